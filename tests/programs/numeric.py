"""Programs as numeric users write them: solvers, statistics, learning, simulation, graphs; several functions, classes, lists."""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tests.support.comparing.registering import Programs

PROGRAMS = Programs(modes=Programs().modes[:2])


def uniform(*shape):
    return np.random.default_rng(0).random(shape)


# Solvers --------------------------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (uniform(7, 7), np.zeros((7, 7))))
def relaxed_once(u, old):
    old[...] = u
    u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
    return np.linalg.norm(u - old), u


@PROGRAMS.either(lambda: (uniform(8, 8), 1e-3))
def relaxed(u, tolerance):
    turns = 0
    while True:
        old = u.copy()
        u[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:])
        turns += 1
        if np.allclose(u, old, atol=tolerance) or np.linalg.norm(u - old) > 1e6:
            return u, turns


@PROGRAMS.either(lambda: (uniform(6, 6),))
def largest_eigenvalue(a):
    a = a @ a.T / len(a)
    v, value = np.ones(len(a)), 0.0
    for turn in range(1000):
        w = a @ v
        new = np.linalg.norm(w)
        v = w / new
        if np.isclose(new, value, rtol=1e-12):
            break
        value = new
    return value, v, turn


# Statistics -----------------------------------------------------------------------------------------------------------


@PROGRAMS.either(lambda: (uniform(12), uniform(9) + 0.2, 4))
def permutation_test(x, y, seed):
    rng = np.random.default_rng(seed)
    pooled, differences = np.concatenate([x, y]), []
    for _ in range(200):
        rng.shuffle(pooled)
        differences.append(pooled[: len(x)].mean() - pooled[len(x) :].mean())
    observed = x.mean() - y.mean()
    medians = [np.median(rng.choice(x, size=len(x))) for _ in range(50)]
    return (np.abs(np.array(differences)) >= abs(observed)).mean(), np.percentile(medians, 90)


@PROGRAMS.either(lambda: (np.cumsum(uniform(60) - 0.5) + 9,))
def backtest(prices):
    account = Account(1000.0)
    fast, slow = (rolling_mean(prices, n) for n in (3, 10))
    values = []
    for day in range(10, len(prices)):
        if fast[day] > slow[day] and not account.shares:
            account.buy(day, prices[day])
        elif fast[day] < slow[day] and account.shares:
            account.sell(day, prices[day])
        values.append(account.cash + account.shares * prices[day])
    path = np.array(values)
    return path[-1], (path / np.maximum.accumulate(path) - 1).min(), account


def rolling_mean(x, n):
    out = np.full(len(x), np.nan)
    for i in range(n - 1, len(x)):
        out[i] = x[i - n + 1 : i + 1].mean()
    return out


@dataclass
class Account:
    cash: float
    shares: int = 0
    trades: list[tuple[int, float, int]] = field(default_factory=list)

    def buy(self, day, price):
        self.shares = int(self.cash // price)
        self.cash -= self.shares * price
        self.trades.append((day, price, self.shares))

    def sell(self, day, price):
        self.cash += self.shares * price
        self.trades.append((day, price, -self.shares))
        self.shares = 0


# Learning -------------------------------------------------------------------------------------------------------------


@PROGRAMS.either(lambda: (uniform(60, 2), 3, 1))
def clusters(points, k, seed):
    rng = np.random.default_rng(seed)
    centres = points[rng.choice(len(points), k, replace=False)]
    for turn in range(50):
        distances = np.linalg.norm(points[:, None] - centres[None], axis=2)
        labels = distances.argmin(axis=1)
        new = np.array([points[labels == j].mean(axis=0) for j in range(k)])
        if np.allclose(new, centres):
            break
        centres = new
    return centres, labels, turn


@PROGRAMS.either(lambda: ([(k % 20, k * 7 % 15, k % 5 + 1.0) for k in range(200)], 20, 15, 1))
def factors(ratings, users, items, seed):
    rng = np.random.default_rng(seed)
    p, q, history = rng.normal(0, 0.1, (users, 4)), rng.normal(0, 0.1, (items, 4)), []
    for _ in range(4):
        total = 0.0
        for user, item, rating in ratings:
            error = rating - p[user] @ q[item]
            total += error * error
            p[user] += 0.05 * (error * q[item] - 0.01 * p[user])
            q[item] += 0.05 * (error * p[user] - 0.01 * q[item])
        history.append(math.sqrt(total / len(ratings)))
    return p, q, history


@PROGRAMS.either(lambda: (uniform(50, 3), (uniform(50) * 3).astype(int), uniform(12, 3)))
def nearest(known, labels, asked):
    out = []
    for row in asked:
        distances = np.sqrt(((known - row) ** 2).sum(axis=1))
        votes: dict[int, int] = {}
        for label in labels[np.argsort(distances)[:5]]:
            votes[label] = votes.get(label, 0) + 1
        out.append(max(votes, key=votes.get))
    return np.array(out)


@PROGRAMS.either(lambda: (5, 12, 2))
def walker(n, episodes, seed):
    rng = np.random.default_rng(seed)
    value, moves, steps = np.zeros((n, n, 4)), [(-1, 0), (1, 0), (0, -1), (0, 1)], []
    for _ in range(episodes):
        y, x, count = 0, 0, 0
        while (y, x) != (n - 1, n - 1) and count < 100:
            a = rng.integers(4) if rng.random() < 0.2 else int(np.argmax(value[y, x]))
            dy, dx = moves[a]
            below, beside = min(max(y + dy, 0), n - 1), min(max(x + dx, 0), n - 1)
            reward = 1.0 if (below, beside) == (n - 1, n - 1) else -0.01
            value[y, x, a] += 0.5 * (reward + 0.9 * value[below, beside].max() - value[y, x, a])
            y, x, count = below, beside, count + 1
        steps.append(count)
    return value, steps


# Simulation -----------------------------------------------------------------------------------------------------------


class Filter:
    def __init__(self, f, h, q, r):
        self.f, self.h, self.q, self.r = f, h, q, r
        self.x, self.p = np.zeros(len(f)), np.eye(len(f))

    def step(self, z):
        self.x = self.f @ self.x
        self.p = self.f @ self.p @ self.f.T + self.q
        s = self.h @ self.p @ self.h.T + self.r
        k = self.p @ self.h.T @ np.linalg.inv(s)
        self.x = self.x + k @ (z - self.h @ self.x)
        self.p = (np.eye(len(self.x)) - k @ self.h) @ self.p


@PROGRAMS.either(lambda: (np.cumsum(uniform(60)),))
def tracked(measured):
    tracker = Filter(
        np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.eye(2) * 0.01, np.eye(1)
    )
    path = []
    for z in measured:
        tracker.step(np.array([z]))
        path.append(tracker.x.copy())
    return np.array(path), tracker.p


# Graphs ---------------------------------------------------------------------------------------------------------------


def root(parents, a):
    while parents[a] != a:
        parents[a] = parents[parents[a]]
        a = parents[a]
    return a


@PROGRAMS.either(lambda: (uniform(14, 2),))
def spanning_tree(points):
    edges = []
    for i in range(len(points)):
        for j in range(i + 1, len(points)):
            edges.append((float(np.linalg.norm(points[i] - points[j])), i, j))
    edges.sort()
    parents, total, tree = list(range(len(points))), 0.0, []
    for length, i, j in edges:
        a, b = root(parents, i), root(parents, j)
        if a != b:
            parents[b] = a
            total += length
            tree.append((i, j))
    return total, tree


@PROGRAMS.either(lambda: (uniform(12, 12) < 0.6,))
def regions(mask):
    labels, found = np.zeros(mask.shape, dtype=int), 0
    for i, j in np.ndindex(*mask.shape):
        if mask[i, j] and not labels[i, j]:
            found += 1
            labels[i, j], queue = found, deque([(i, j)])
            while queue:
                y, x = queue.popleft()
                for a, b in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
                    is_inside = 0 <= a < len(mask) and 0 <= b < mask.shape[1]
                    if is_inside and mask[a, b] and not labels[a, b]:
                        labels[a, b] = found
                        queue.append((a, b))
    return labels, np.bincount(labels.ravel())


@PROGRAMS.either(lambda: ({k: [(k * 3 % 17, 0.5 * k), (k * 5 % 17, 2.0)] for k in range(17)}, 1))
def shortest(graph, start):
    distances, heap, done = {start: 0.0}, [(0.0, start)], set()
    while heap:
        distance, node = heapq.heappop(heap)
        if node in done:
            continue
        done.add(node)
        for other, length in graph[node]:
            if other not in distances or distance + length < distances[other]:
                distances[other] = distance + length
                heapq.heappush(heap, (distances[other], other))
    return distances


# Functions of single numbers ------------------------------------------------------------------------------------------


@PROGRAMS.whole(lambda: (uniform(5), uniform(5, 2)))
def turned(state, points):
    c, s = math.cos(state[2]), math.sin(state[2])
    rotation = np.array([[c, -s], [s, c]])
    moved = points @ rotation.T + state[:2]
    bearing = math.atan2(state[1] - moved[0, 1], state[0] - moved[0, 0])
    distance = math.hypot(state[0] - moved[0, 0], state[1] - moved[0, 1])
    weight = math.exp(-(distance**2)) / math.sqrt(2 * math.pi * state[3])
    return (
        moved,
        bearing,
        weight * state,
        math.log(weight, 2),
        math.degrees(bearing),
        math.isnan(weight),
    )


@PROGRAMS.either(lambda: (uniform(5), np.array([3, 4]), np.array([2.5, -1.0], np.float32)))
def numbers_that_do_not_fit(x, i, small):
    found = [math.hypot(*i), math.sqrt(i[1]), math.fabs(small[1]), math.pow(small[0], i[0])]
    x[0] = math.copysign(x[1], small[1])
    for attempt in (
        lambda: math.sqrt(x[0]), lambda: math.exp(x[1] * 1e6 + 1e5), lambda: math.sin(x[0] * 1j),
        lambda: math.sin(x[:2]), lambda: math.log(x[0] - x[0]), lambda: math.atan2(x[0]), lambda: math.cos(small[0]) + x[0],
    ):  # fmt: skip
        try:
            found.append(attempt())
        except (ValueError, OverflowError, TypeError) as error:
            found.append(str(error))
    if math.isfinite(x[1]):
        x *= math.gamma(x[1] + 1)
    return found, x
