"""Solvers that go on until they are done: `while`, `break` and `return` on computed numbers."""

# How many steps a loop took is told behind it.
# ruff: noqa: B007
# mypy: disable-error-code="possibly-undefined, no-any-return, assignment"

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


# --- linear systems and eigenvalues


def laplace(grid: Array, tolerance: float) -> Any:
    """Jacobi sweeps between fixed borders, until nothing changes much."""
    u = grid.copy()
    change = tolerance + 1.0
    sweeps = 0
    while change > tolerance:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u = new
        sweeps += 1
    return u, sweeps


def relaxation(grid: Array, tolerance: float, weight: float) -> Any:
    """Successive over-relaxation by elements, until the largest change is small."""
    u = grid.copy()
    rows, columns = u.shape
    sweeps = 0
    while True:
        largest = 0.0
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                around = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                change = weight * (around - u[i, j])
                u[i, j] += change
                largest = max(largest, abs(change))
        sweeps += 1
        if largest < tolerance:
            break
    return u, sweeps


def conjugate_gradients(a: Array, b: Array, tolerance: float) -> Any:
    """Solve until the residual is small beside the right-hand side."""
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rr = r @ r
    limit = tolerance * np.sqrt(b @ b)
    for step in range(10 * len(b)):
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        if np.sqrt(new) < limit:
            return x, step + 1
        p = r + (new / rr) * p
        rr = new
    return x, 10 * len(b)


def power_iteration(a: Array, tolerance: float) -> Any:
    """The largest eigenvalue and its vector."""
    v = np.ones(a.shape[0])
    v /= np.linalg.norm(v)
    value = 0.0
    while True:
        w = a @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        if abs(new - value) <= tolerance * abs(new):
            return new, v
        value = new


def pagerank(links: Array, damping: float, tolerance: float) -> Any:
    """Ranks of pages from a dense matrix of links, whose columns sum to one."""
    n = links.shape[0]
    ranks = np.full(n, 1.0 / n)
    error = 1.0
    steps = 0
    while error > tolerance:
        new = (1.0 - damping) / n + damping * (links @ ranks)
        error = np.abs(new - ranks).sum()
        ranks = new
        steps += 1
    return ranks, steps


def pagerank_sparse(starts: Array, targets: Array, damping: float, tolerance: float) -> Any:
    """The same from lists of links, one after another."""
    n = len(starts) - 1
    ranks = np.full(n, 1.0 / n)
    for step in range(200):
        new = np.full(n, (1.0 - damping) / n)
        for page in range(n):
            first, last = starts[page], starts[page + 1]
            if first == last:
                continue
            share = damping * ranks[page] / (last - first)
            for k in range(first, last):
                new[targets[k]] += share
        error = np.abs(new - ranks).sum()
        ranks = new
        if error < tolerance:
            break
    return ranks, step


# --- roots and minima


def kepler(anomalies: Array, eccentricity: float) -> Any:
    """Kepler's equation by Newton's method, element by element."""
    out = np.empty_like(anomalies)
    for i in range(len(anomalies)):
        mean = anomalies[i]
        e = mean
        while True:
            step = (e - eccentricity * math.sin(e) - mean) / (1.0 - eccentricity * math.cos(e))
            e -= step
            if abs(step) < 1e-12:
                break
        out[i] = e
    return out


def newton_arrays(x: Array, tolerance: float) -> Any:
    """Cube roots of all elements at once, until the last of them stands."""
    y = np.ones_like(x)
    for _ in range(100):
        step = (y * y * y - x) / (3.0 * y * y)
        y = y - step
        if np.all(np.abs(step) < tolerance):
            break
    return y


def quantile(p: float, low: float, high: float) -> float:
    """A quantile of the normal distribution, by bisection."""
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if 0.5 * (1.0 + math.erf(middle / math.sqrt(2.0))) < p:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def bisections(probabilities: Array) -> Any:
    """Quantiles for many probabilities."""
    out = np.zeros(len(probabilities))
    for i, p in enumerate(probabilities):
        out[i] = quantile(p, -10.0, 10.0)
    return out


def line_search(a: Array, b: Array, tolerance: float) -> Any:
    """Least squares by steepest descent; each step is halved until it gains enough."""
    x = np.zeros(a.shape[1])
    residual = a @ x - b
    value = 0.5 * (residual @ residual)
    for step in range(100):
        gradient = a.T @ residual
        slope = gradient @ gradient
        if slope < tolerance:
            break
        t = 1.0
        for _ in range(40):
            trial = x - t * gradient
            trial_residual = a @ trial - b
            trial_value = 0.5 * (trial_residual @ trial_residual)
            if trial_value <= value - 1e-4 * t * slope:
                break
            t *= 0.5
        x, residual, value = trial, trial_residual, trial_value
    return x, value, step


def rosenbrock(x: float, y: float, most: int) -> Any:
    """The minimum of Rosenbrock's function by descent with backtracking, in plain floats."""
    value = (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2
    for step in range(most):
        dx = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x)
        dy = 200.0 * (y - x * x)
        slope = dx * dx + dy * dy
        if slope < 1e-12:
            break
        t = 1.0
        while True:
            nx, ny = x - t * dx, y - t * dy
            new = (1.0 - nx) ** 2 + 100.0 * (ny - nx * nx) ** 2
            if new <= value - 0.3 * t * slope or t < 1e-12:
                break
            t *= 0.5
        x, y, value = nx, ny, new
    return x, y, value, step


def lasso(x: Array, y: Array, penalty: float, tolerance: float) -> Any:
    """Coordinate descent until no coefficient moves."""
    features = x.shape[1]
    w = np.zeros(features)
    residual = y.copy()
    norms = (x * x).sum(axis=0)
    for sweep in range(1000):
        largest = 0.0
        for j in range(features):
            old = w[j]
            rho = x[:, j] @ residual + norms[j] * old
            if rho > penalty:
                w[j] = (rho - penalty) / norms[j]
            elif rho < -penalty:
                w[j] = (rho + penalty) / norms[j]
            else:
                w[j] = 0.0
            change = w[j] - old
            if change != 0.0:
                residual -= change * x[:, j]
            largest = max(largest, abs(change))
        if largest < tolerance:
            break
    return w, sweep


# --- statistics


def k_means(points: Array, centres: Array) -> Any:
    """Until no label changes: distances of all pairs at once."""
    centres = centres.copy()
    labels = np.full(len(points), -1)
    rounds = 0
    while True:
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        new = distances.argmin(axis=1)
        if (new == labels).all():
            break
        labels = new
        for k in range(len(centres)):
            members = labels == k
            if members.any():
                centres[k] = points[members].mean(axis=0)
        rounds += 1
    return centres, labels, rounds


def k_means_loops(points: Array, centres: Array) -> Any:
    """The same, point by point."""
    n, dimensions = points.shape
    count = len(centres)
    centres = centres.copy()
    labels = np.zeros(n, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for i in range(n):
            best, nearest = np.inf, 0
            for k in range(count):
                distance = 0.0
                for d in range(dimensions):
                    distance += (points[i, d] - centres[k, d]) ** 2
                if distance < best:
                    best, nearest = distance, k
            if labels[i] != nearest:
                labels[i] = nearest
                changed = True
        sums = np.zeros((count, dimensions))
        members = np.zeros(count)
        for i in range(n):
            sums[labels[i]] += points[i]
            members[labels[i]] += 1.0
        for k in range(count):
            if members[k] > 0:
                centres[k] = sums[k] / members[k]
    return centres, labels


def two_gaussians(x: Array, tolerance: float) -> Any:
    """Expectation and maximisation until the likelihood stands."""
    weight, m1, m2, s1, s2 = 0.5, x.min(), x.max(), x.std(), x.std()
    last = -np.inf
    for step in range(500):
        one = weight / (s1 * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((x - m1) / s1) ** 2)
        two = (1 - weight) / (s2 * np.sqrt(2 * np.pi)) * np.exp(-0.5 * ((x - m2) / s2) ** 2)
        total = one + two
        likelihood = np.log(total).sum()
        if likelihood - last < tolerance:
            break
        last = likelihood
        share = one / total
        n1 = share.sum()
        n2 = len(x) - n1
        weight = n1 / len(x)
        m1 = (share * x).sum() / n1
        m2 = ((1 - share) * x).sum() / n2
        s1 = np.sqrt((share * (x - m1) ** 2).sum() / n1)
        s2 = np.sqrt(((1 - share) * (x - m2) ** 2).sum() / n2)
    return weight, m1, m2, s1, s2, step


def sinkhorn(costs: Array, rows: Array, columns: Array, strength: float, tolerance: float) -> Any:
    """Optimal transport: rows and columns are scaled in turn."""
    kernel = np.exp(-costs / strength)
    u = np.ones_like(rows)
    error = 1.0
    while error > tolerance:
        v = columns / (kernel.T @ u)
        new = rows / (kernel @ v)
        error = np.abs(new - u).max() / np.abs(new).max()
        u = new
    return u[:, None] * kernel * v


# --- chance


def annealing(points: Array, steps: int, seed: int) -> Any:
    """A round trip by simulated annealing: parts of it are turned around."""
    rng = np.random.default_rng(seed)
    n = len(points)
    tour = np.arange(n)
    temperature = 1.0
    for _ in range(steps):
        i = rng.integers(1, n - 1)
        j = rng.integers(i + 1, n)
        a, b = points[tour[i - 1]], points[tour[i]]
        c, d = points[tour[j]], points[tour[(j + 1) % n]]
        before = math.hypot(a[0] - b[0], a[1] - b[1]) + math.hypot(c[0] - d[0], c[1] - d[1])
        after = math.hypot(a[0] - c[0], a[1] - c[1]) + math.hypot(b[0] - d[0], b[1] - d[1])
        change = after - before
        if change < 0 or rng.random() < math.exp(-change / temperature):
            tour[i : j + 1] = tour[i : j + 1][::-1]
        temperature *= 0.999
    return tour


def ising(spins: Array, beta: float, sweeps: int, seed: int) -> Any:
    """Metropolis sweeps of the Ising model on a torus."""
    rng = np.random.default_rng(seed)
    spins = spins.copy()
    n, m = spins.shape
    energies = np.zeros(sweeps)
    for sweep in range(sweeps):
        for i in range(n):
            for j in range(m):
                around = (
                    spins[(i + 1) % n, j]
                    + spins[i - 1, j]
                    + spins[i, (j + 1) % m]
                    + spins[i, j - 1]
                )
                cost = 2 * spins[i, j] * around
                if cost <= 0 or rng.random() < np.exp(-beta * cost):
                    spins[i, j] = -spins[i, j]
        energies[sweep] = -(spins * (np.roll(spins, 1, 0) + np.roll(spins, 1, 1))).sum()
    return spins, energies


def metropolis(x: Array, steps: int, seed: int) -> Any:
    """Samples of a mean and a logarithmic deviation, given data."""
    rng = np.random.default_rng(seed)
    mean, log_scale = 0.0, 0.0
    chain = np.empty((steps, 2))
    current = -0.5 * (x**2).sum()
    accepted = 0
    for step in range(steps):
        other = mean + 0.1 * rng.normal()
        other_scale = log_scale + 0.1 * rng.normal()
        z = (x - other) / np.exp(other_scale)
        proposed = -0.5 * (z**2).sum() - len(x) * other_scale
        if np.log(rng.random()) < proposed - current:
            mean, log_scale, current = other, other_scale, proposed
            accepted += 1
        chain[step] = mean, log_scale
    return chain, accepted / steps


# --- differential equations


def van_der_pol(mu: float, end: float, tolerance: float) -> Any:
    """An adaptive Runge-Kutta pair of Bogacki and Shampine, in plain floats."""
    t, x, v, h = 0.0, 2.0, 0.0, 0.01
    steps = rejected = 0
    while t < end:
        h = min(h, end - t)
        k1x, k1v = v, mu * (1.0 - x * x) * v - x
        ax, av = x + 0.5 * h * k1x, v + 0.5 * h * k1v
        k2x, k2v = av, mu * (1.0 - ax * ax) * av - ax
        ax, av = x + 0.75 * h * k2x, v + 0.75 * h * k2v
        k3x, k3v = av, mu * (1.0 - ax * ax) * av - ax
        nx = x + h * (2.0 * k1x + 3.0 * k2x + 4.0 * k3x) / 9.0
        nv = v + h * (2.0 * k1v + 3.0 * k2v + 4.0 * k3v) / 9.0
        k4x, k4v = nv, mu * (1.0 - nx * nx) * nv - nx
        ex = h * (-5.0 * k1x / 72.0 + k2x / 12.0 + k3x / 9.0 - k4x / 8.0)
        ev = h * (-5.0 * k1v / 72.0 + k2v / 12.0 + k3v / 9.0 - k4v / 8.0)
        error = math.sqrt(ex * ex + ev * ev)
        if error <= tolerance:
            t, x, v = t + h, nx, nv
            steps += 1
        else:
            rejected += 1
        h *= min(5.0, max(0.2, 0.9 * (tolerance / (error + 1e-300)) ** (1.0 / 3.0)))
    return x, v, steps, rejected


def brusselator(y: Array, diffusion: float) -> Any:
    """The right-hand side of a reaction along a ring."""
    u, v = y
    flow = diffusion * (np.roll(u, 1) + np.roll(u, -1) - 2 * u)
    counterflow = diffusion * (np.roll(v, 1) + np.roll(v, -1) - 2 * v)
    return np.array([1.0 + u * u * v - 4.0 * u + flow, 3.0 * u - u * u * v + counterflow])


def adaptive_runge_kutta(y: Array, end: float, tolerance: float) -> Any:
    """Heun's method with Euler's inside, whose difference chooses the step."""
    t, h = 0.0, 1e-3
    steps = 0
    while t < end:
        h = min(h, end - t)
        k1 = brusselator(y, 0.5)
        k2 = brusselator(y + h * k1, 0.5)
        error = np.abs(0.5 * h * (k2 - k1)).max()
        if error <= tolerance:
            t += h
            y = y + 0.5 * h * (k1 + k2)
            steps += 1
        h *= min(2.0, max(0.3, 0.9 * math.sqrt(tolerance / max(error, 1e-300))))
    return y, steps


def value_iteration(rewards: Array, chances: Array, discount: float, tolerance: float) -> Any:
    """The best policy of a Markov decision process."""
    actions, n = chances.shape[0], chances.shape[1]
    values = np.zeros(n)
    policy = np.zeros(n, dtype=np.int64)
    while True:
        delta = 0.0
        for s in range(n):
            best = -np.inf
            for a in range(actions):
                gain = rewards[a, s] + discount * (chances[a, s] @ values)
                if gain > best:
                    best = gain
                    policy[s] = a
            delta = max(delta, abs(best - values[s]))
            values[s] = best
        if delta < tolerance:
            return values, policy
