"""Exponentials, logarithms and sines of numbers, one after another, as programs write them that know no vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def logistic_loss(scores: Array, labels: Array) -> Any:
    """How unlikely labels are, by their scores."""
    loss = 0.0
    for i in range(len(scores)):
        p = 1.0 / (1.0 + np.exp(-scores[i]))
        if labels[i] > 0.5:
            loss -= np.log(p)
        else:
            loss -= np.log(1.0 - p)
    return loss / len(scores)


def damped_wave(times: Array, decay: float, frequency: float) -> Any:
    """An oscillation that dies away."""
    out = np.empty(len(times))
    for i in range(len(times)):
        out[i] = np.exp(-decay * times[i]) * np.sin(frequency * times[i])
    return out


def kernel_matrix(points: Array, width: float) -> Any:
    """The Gaussian kernel of all pairs of points in the plane."""
    n = len(points)
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            dx = points[i, 0] - points[j, 0]
            dy = points[i, 1] - points[j, 1]
            out[i, j] = np.exp(-(dx * dx + dy * dy) / width)
    return out


def great_circles(latitudes: Array, longitudes: Array) -> Any:
    """The length of a route on the earth, in kilometres."""
    total = 0.0
    for i in range(1, len(latitudes)):
        a = np.sin((latitudes[i] - latitudes[i - 1]) / 2) ** 2
        b = np.cos(latitudes[i - 1]) * np.cos(latitudes[i])
        c = np.sin((longitudes[i] - longitudes[i - 1]) / 2) ** 2
        total += 2 * 6371.0 * np.arcsin(np.sqrt(a + b * c))
    return total


def neuron_layer(inputs: Array, weights: Array) -> Any:
    """What a layer of neurons gives, float32."""
    rows, columns = weights.shape
    out = np.empty(rows, np.float32)
    for i in range(rows):
        total = np.float32(0.0)
        for j in range(columns):
            total += weights[i, j] * inputs[j]
        out[i] = np.tanh(total)
    return out
