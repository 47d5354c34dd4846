"""Small programs as users write them: element loops, recurrences, closures made in factories, solvers, simulations.

The first argument of some is what they decorate their own functions with.
"""

import functools
import math
import warnings
from collections import deque

import numpy as np

# --- recurrences and element loops


def halve(n):
    x = np.zeros(n)
    x[0] = 1.0
    for i in range(1, n):
        x[i] = x[i - 1] * 0.5
    return x


def halve_without_underflow(n):
    with np.errstate(under="raise"):
        x = np.ones(n)
        for i in range(1, n):
            x[i] = x[i - 1] * 0.999
    return x


def exponential_smoothing(series, alpha):
    smoothed = np.empty_like(series)
    smoothed[0] = series[0]
    for t in range(1, len(series)):
        smoothed[t] = alpha * series[t] + (1 - alpha) * smoothed[t - 1]
    return smoothed


def double_exponential_smoothing(series, alpha, beta):
    level, trend = series[0], series[1] - series[0]
    out = [level]
    for value in series[1:]:
        last, level = level, alpha * value + (1 - alpha) * (level + trend)
        trend = beta * (level - last) + (1 - beta) * trend
        out.append(level + trend)
    return np.array(out)


def moving_average(x, window):
    out = np.full(len(x), np.nan)
    for i in range(window - 1, len(x)):
        out[i] = x[i - window + 1 : i + 1].mean()
    return out


def cumulative_maximum_drawdown(prices):
    peak, worst = prices[0], 0.0
    for price in prices:
        peak = max(peak, price)
        drop = (peak - price) / peak
        worst = max(worst, drop)
    return worst


def fibonacci_table(n):
    table = np.zeros(n, dtype=np.int64)
    table[1] = 1
    for i in range(2, n):
        table[i] = table[i - 1] + table[i - 2]
    return table


def logistic_map(rates, steps):
    x = np.full(rates.shape, 0.5)
    for _ in range(steps):
        x = rates * x * (1.0 - x)
    return x


def crc32_table():
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        crc = np.uint32(i)
        for _ in range(8):
            crc = (
                (crc >> np.uint32(1)) ^ np.uint32(0xEDB88320)
                if crc & np.uint32(1)
                else crc >> np.uint32(1)
            )
        table[i] = crc
    return table


def crc32(data, table):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ int(table[(crc ^ byte) & 0xFF])
    return crc ^ 0xFFFFFFFF


def luhn_checks(numbers):
    valid = []
    for number in numbers:
        digits = np.array([int(c) for c in str(number)])[::-1]
        doubled = digits[1::2] * 2
        valid.append(int(digits[::2].sum() + (doubled - 9 * (doubled > 9)).sum()) % 10 == 0)
    return valid


# --- dynamic programming


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for weight, value in zip(weights, values):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


def knapsack_rows(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for weight, value in zip(weights, values):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + value)
    return best


def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


def viterbi(transition, emission, initial, observations):
    score = np.log(initial) + np.log(emission[:, observations[0]])
    back = []
    for seen in observations[1:]:
        steps = score[:, None] + np.log(transition)
        back.append(steps.argmax(axis=0))
        score = steps.max(axis=0) + np.log(emission[:, seen])
    path = [int(score.argmax())]
    for pointers in reversed(back):
        path.append(int(pointers[path[-1]]))
    return path[::-1], score.max()


# --- linear algebra by hand


def thomas(lower, diagonal, upper, right):
    n = len(diagonal)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m
        d[i] = (right[i] - lower[i] * d[i - 1]) / m
    x = np.zeros(n)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def lu_elements(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def cholesky(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - np.dot(lower[i, :j], lower[j, :j])
            lower[i, j] = math.sqrt(rest) if i == j else rest / lower[j, j]
    return lower


def gram_schmidt(vectors):
    basis = []
    for v in vectors:
        w = v - sum((np.dot(v, b) * b for b in basis), np.zeros_like(v))
        if np.linalg.norm(w) > 1e-10:
            basis.append(w / np.linalg.norm(w))
    return np.array(basis)


def conjugate_gradient(a, b, tolerance=1e-10):
    x = np.zeros_like(b)
    r = b - a @ x
    p, rs = r.copy(), r @ r
    for iteration in range(len(b)):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        if np.sqrt(new) < tolerance:
            break
        p = r + (new / rs) * p
        rs = new
    return x, iteration


def power_iteration(a, steps):
    v = np.ones(a.shape[0])
    for _ in range(steps):
        v = a @ v
        v /= np.linalg.norm(v)
    return v @ a @ v, v


def jacobi_solver(a, b, sweeps):
    x = np.zeros_like(b)
    d = np.diag(a)
    rest = a - np.diagflat(d)
    for _ in range(sweeps):
        x = (b - rest @ x) / d
    return x


# --- partial differential equations


def heat_steps(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = 0
        u[-1] = 1
    return u


def shift_and_clear(u, steps):
    for _ in range(steps):
        u[1:-1] = u[2:] * 0.5
        u[0] = 0
    return u


def burgers(u, steps, dt, dx, nu):
    for _ in range(steps):
        un = u.copy()
        u[1:-1] = (
            un[1:-1]
            - un[1:-1] * dt / dx * (un[1:-1] - un[:-2])
            + nu * dt / dx**2 * (un[2:] - 2 * un[1:-1] + un[:-2])
        )
        u[0] = (
            un[0]
            - un[0] * dt / dx * (un[0] - un[-2])
            + nu * dt / dx**2 * (un[1] - 2 * un[0] + un[-2])
        )
        u[-1] = u[0]
    return u


def pressure_poisson(p, b, dx, dy, sweeps):
    for _ in range(sweeps):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0
    return p


def build_up_b(rho, dt, u, v, dx, dy):
    b = np.zeros_like(u)
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    b[1:-1, 1:-1] = rho * (1 / dt * (ux + vy) - ux**2 - 2 * (uy * vx) - vy**2)
    return b


def cavity_flow(n, steps, sweeps):
    dx = dy = 2.0 / (n - 1)
    rho, nu, dt = 1.0, 0.1, 0.001
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        b = build_up_b(rho, dt, u, v, dx, dy)
        p = pressure_poisson(p, b, dx, dy, sweeps)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
            + nu
            * (
                dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
                + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
            )
        )
        v[1:-1, 1:-1] = (
            vn[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
            - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
            - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
            + nu
            * (
                dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
            )
        )
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0
        v[:, 0] = 0
        v[:, -1] = 0
    return u, v, p


def gauss_seidel(grid, sweeps):
    for _ in range(sweeps):
        for i in range(1, grid.shape[0] - 1):
            for j in range(1, grid.shape[1] - 1):
                grid[i, j] = 0.25 * (
                    grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1]
                )
    return grid


# --- simulations and images


def game_of_life(board, steps):
    for _ in range(steps):
        neighbours = sum(
            np.roll(np.roll(board, i, 0), j, 1)
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).astype(board.dtype)
    return board


def mandelbrot(width, height, most):
    y, x = np.ogrid[-1.4 : 1.4 : height * 1j, -2 : 0.8 : width * 1j]
    c = x + y * 1j
    z = c
    steps = np.zeros(z.shape, dtype=int) + most
    for i in range(most):
        z = z**2 + c
        diverge = z * np.conj(z) > 2**2
        now = diverge & (steps == most)
        steps[now] = i
        z[diverge] = 2
    return steps


def mandelbrot_pixels(width, height, most):
    out = np.zeros((height, width), dtype=np.int32)
    for row in range(height):
        for column in range(width):
            c = complex(-2 + 2.8 * column / width, -1.4 + 2.8 * row / height)
            z, n = 0j, 0
            while abs(z) <= 2 and n < most:
                z = z * z + c
                n += 1
            out[row, column] = n
    return out


def kalman_filter(measurements, q, r):
    x, p = 0.0, 1.0
    estimates = np.zeros(len(measurements))
    for k, z in enumerate(measurements):
        p = p + q
        gain = p / (p + r)
        x = x + gain * (z - x)
        p = (1 - gain) * p
        estimates[k] = x
    return estimates


def kalman_filter_2d(measurements):
    F, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    Q, R = 1e-3 * np.eye(2), np.array([[0.1]])
    x, P = np.zeros(2), np.eye(2)
    out = []
    for z in measurements:
        x = F @ x
        P = F @ P @ F.T + Q
        y = z - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(2) - K @ H) @ P
        out.append(x)
    return np.array(out)


def rnn(inputs, wx, wh, b):
    h = np.zeros(wh.shape[0])
    states = []
    for x in inputs:
        h = np.tanh(wx @ x + wh @ h + b)
        states.append(h)
    return np.stack(states)


def lstm(inputs, w, b, hidden):
    h, c = np.zeros(hidden), np.zeros(hidden)
    for x in inputs:
        gates = w @ np.concatenate([x, h]) + b
        i, f, o, g = np.split(gates, 4)
        i, f, o = 1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-f)), 1 / (1 + np.exp(-o))
        c = f * c + i * np.tanh(g)
        h = o * np.tanh(c)
    return h, c


def n_body(positions, velocities, masses, steps, dt):
    for _ in range(steps):
        apart = positions[None, :, :] - positions[:, None, :]
        inverse = (np.sum(apart**2, axis=-1) + 0.01) ** -1.5
        velocities = velocities + dt * (apart * inverse[:, :, None] * masses[None, :, None]).sum(
            axis=1
        )
        positions = positions + dt * velocities
    return positions, velocities


def runge_kutta(y, steps, h):
    def slope(y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    track = [y]
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        track.append(y)
    return np.array(track)


def histogram_by_hand(values, bins):
    counts = [0] * bins
    low, high = values.min(), values.max()
    for value in values:
        counts[min(int((value - low) / (high - low) * bins), bins - 1)] += 1
    return counts


def bootstrap_mean(values, rounds, seed):
    rng = np.random.default_rng(seed)
    means = np.empty(rounds)
    for i in range(rounds):
        means[i] = rng.choice(values, size=len(values)).mean()
    return np.percentile(means, [2.5, 97.5])


def k_means(points, centres, rounds):
    for _ in range(rounds):
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
        nearest = distances.argmin(axis=1)
        centres = np.array([points[nearest == k].mean(axis=0) for k in range(len(centres))])
    return centres, nearest


def dithered(image):
    image = image.copy()
    h, w = image.shape
    for y in range(h - 1):
        for x in range(1, w - 1):
            old = image[y, x]
            new = round(old)
            image[y, x] = new
            error = old - new
            image[y, x + 1] += error * 7 / 16
            image[y + 1, x - 1] += error * 3 / 16
            image[y + 1, x] += error * 5 / 16
            image[y + 1, x + 1] += error * 1 / 16
    return image


def gradient_descent(x, y, rate, steps):
    w, b = 0.0, 0.0
    history = []
    for _ in range(steps):
        error = w * x + b - y
        w -= rate * 2 * np.mean(error * x)
        b -= rate * 2 * np.mean(error)
        history.append(float(np.mean(error**2)))
    return w, b, history


def logistic_regression(x, y, rate, steps):
    w = np.zeros(x.shape[1])
    for step in range(steps):
        p = 1 / (1 + np.exp(-x @ w))
        gradient = x.T @ (p - y) / len(y)
        w -= rate * gradient
        if np.abs(gradient).max() < 1e-4:
            break
    return w, step


def newton_root(f, x, steps):
    for _ in range(steps):
        slope = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
        if abs(slope) < 1e-12:
            break
        x = x - f(x) / slope
    return x


def monte_carlo_options(spot, strike, rate, sigma, maturity, paths, steps, seed):
    rng = np.random.default_rng(seed)
    dt = maturity / steps
    prices = np.full(paths, spot)
    for _ in range(steps):
        prices = prices * np.exp(
            (rate - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * rng.standard_normal(paths)
        )
    payoff = np.maximum(prices - strike, 0)
    return np.exp(-rate * maturity) * payoff.mean(), payoff.std() / np.sqrt(paths)


def breadth_first(grid, start, goal):
    waiting, seen = deque([(start, 0)]), np.zeros(grid.shape, bool)
    seen[start] = True
    while waiting:
        (y, x), steps = waiting.popleft()
        if (y, x) == goal:
            return steps
        for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            if (
                0 <= v < grid.shape[0]
                and 0 <= u < grid.shape[1]
                and not grid[v, u]
                and not seen[v, u]
            ):
                seen[v, u] = True
                waiting.append(((v, u), steps + 1))
    return -1


def one_line(x):
    return x + 1.0


def rms(x):
    return np.sqrt(np.mean(x**2))


def normalized_rows(x):
    out = []
    for row in x:
        length = np.linalg.norm(row)
        out.append(row / length if length > 0 else row)
    return np.vstack(out)


# --- closures made in factories, and decorated functions inside functions


def damped_steps(decorate, x, rates):
    def damper(rate):
        @decorate
        def step(v):
            return v - rate * v * 0.1

        return step

    for rate in rates:
        x = damper(rate)(x)
    return x


def polynomials(decorate, x, rows):
    def polynomial(coefficients):
        @decorate
        def evaluate(v):
            total = np.zeros_like(v)
            for c in coefficients:
                total = total * v + c
            return total

        return evaluate

    return [polynomial(row)(x) for row in rows]


def callbacks(decorate, x, steps):
    history = []

    @decorate
    def objective(w):
        return ((w - 1.0) ** 2).sum()

    @decorate
    def gradient(w):
        return 2.0 * (w - 1.0)

    for _ in range(steps):
        history.append(objective(x))
        x = x - 0.1 * gradient(x)
    return x, history


def compositions(decorate, x, count):
    def scaled(f, k):
        return decorate(lambda v: f(v) * k + k)

    f = np.sin
    for k in range(count):
        f = scaled(f, 1.0 + 0.1 * k)
    return f(x)


def cached_kernels(decorate, image, sizes):
    @functools.cache
    def kernel(size):
        k = np.exp(-(np.linspace(-2, 2, size) ** 2))
        return k / k.sum()

    @decorate
    def blurred(rows, size):
        k = kernel(size)
        return np.array([np.convolve(row, k, mode="same") for row in rows])

    for size in sizes:
        image = blurred(image, size)
    return image


# --- warnings and floating-point errors as errors


def safe_ratios(a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = []
        for x, y in zip(a, b):
            try:
                out.append(x / y)
            except RuntimeWarning:
                out.append(np.float64(0.0))
    return np.array(out)


def strict_newton(values, steps):
    with np.errstate(all="raise"):
        x = values.copy()
        for _ in range(steps):
            try:
                x = x - (x**2 - 2) / (2 * x)
            except FloatingPointError:
                x = x + 0.1
    return x


def strict_cavity_flow(n, steps, sweeps):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return cavity_flow(n, steps, sweeps)
