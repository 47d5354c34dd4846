"""Windows of an image or a signal: what each comes to, as programs write it that know no library for images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def box_filter(image: Array) -> Any:
    """The mean of nine neighbours; fewer at the borders."""
    rows, columns = image.shape
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = image[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2].mean()
    return out


def local_contrast(image: Array, radius: int) -> Any:
    """How far a pixel is from the mean of its neighbours, by their deviation."""
    rows, columns = image.shape
    out = np.zeros((rows, columns))
    for i in range(radius, rows - radius):
        for j in range(radius, columns - radius):
            window = image[i - radius : i + radius + 1, j - radius : j + radius + 1]
            out[i, j] = (image[i, j] - window.mean()) / (window.std() + 0.01)
    return out


def median_windows(image: Array) -> Any:
    """The median of nine neighbours."""
    rows, columns = image.shape
    out = image.copy()
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            out[i, j] = np.median(image[i - 1 : i + 2, j - 1 : j + 2])
    return out


def pooled(image: Array) -> Any:
    """The largest of each four pixels."""
    rows, columns = image.shape[0] // 2, image.shape[1] // 2
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.max(image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])
    return out


def template_distances(image: Array, template: Array) -> Any:
    """How unlike a template each window is."""
    height, width = template.shape
    rows, columns = image.shape[0] - height + 1, image.shape[1] - width + 1
    out = np.empty((rows, columns))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.sum((image[i : i + height, j : j + width] - template) ** 2)
    return out
