"""Slices of one axis by how long they are, and what else stands in the brackets of random array statements."""

from __future__ import annotations

import random

# For each extent the slices that have it: `L` is the axis's length, `I` a loop's index, mostly from 1 to L - 2.
EXTENTS = {
    "L": (":", ":", ":", "::-1", "0:", ":L", "-L:", "0:L", "None:None", ":L + 3"),
    "L-1": ("1:", ":-1", "1:", ":-1", "1:L", ":L - 1", ":0:-1", "-2::-1"),
    "L-2": ("1:-1", "2:", ":-2", "1:-1", "1:L - 1", "2:L", "-2:0:-1", ":1:-1"),
    "L-4": ("2:-2", "4:", ":-4", "1:-3", "3:-1"),
    "I": (":I", ":I", ":I", "0:I", "1:I + 1", "I - 1::-1", "L - I:", "-I:", "I:0:-1"),
    "I+1": (":I + 1", "I::-1", "L - I - 1:", "-I - 1:", "0:I + 1"),
    "L-I": ("I:", "I:", "I:L", ":L - I", ":-I"),
    "L-I-1": ("I + 1:", "I + 1:", ":L - I - 1", ":-I - 1", "I + 1:L", ":I:-1", "-1:I:-1"),
    "2": (":2", "-2:", "I:I + 2", "I - 1:I + 1", "1::-1"),
    "3": (":3", "-3:", "I - 1:I + 2", "2::-1", "3:0:-1", "-4:-1"),
    "even": ("::2", "0::2", "::-2"),
    "odd": ("1::2", "-2::-2"),
    "0": ("5:2", "L:", "I:I", "0:0", "-1:0", "L + 3:", "2:5:-1"),
}
OFTEN = "L L L L-1 L-2 L-2 I I I+1 L-I L-I-1 L-I-1".split()
SELDOM = ["L-4", "2", "3", "even", "odd", "0"]
PLACES = (
    "I",
    "I",
    "I",
    "I",
    "I",
    "-1",
    "0",
    "I - 1",
    "L - 1 - I",
    "-I",
    "1",
    "L // 2",
    "~I",
    "I % 3",
)
ODD_PLACES = ("I + 1", "L", "I * 2", "-I - 1", "K - 1")


def extent(rng: random.Random, *, has_loop: bool) -> str:
    """How long a slice is to be."""
    known = SELDOM if rng.random() < 0.2 else OFTEN
    return rng.choice([one for one in known if has_loop or "I" not in one])


def span(rng: random.Random, extent: str, length: str, index: str) -> str:
    """A slice of this extent; seldom of another."""
    if rng.random() < 0.01:
        extent = rng.choice(OFTEN)
    texts = [text for text in EXTENTS[extent] if index or "I" not in text]
    return filled(rng.choice(texts or [":3"]), length, index)


def place(rng: random.Random, length: str, index: str) -> str:
    """An index, mostly inside."""
    known = ODD_PLACES if rng.random() < 0.02 else PLACES
    texts = [text for text in known if index or "I" not in text]
    return filled(rng.choice(texts or ["0"]), length, index)


def filled(text: str, length: str, index: str) -> str:
    """The text for an axis of this length and this loop's index; `K` is the parameter `k`."""
    return text.replace("L", length).replace("I", index).replace("K", "k")
