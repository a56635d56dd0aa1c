"""Logs of people who click by a model, drawn with NumPy alone: what fits are tested against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Floats, Ints
from clickrank.logs import Counts

ATTRACTION = np.array([0.55, 0.4, 0.3, 0.2, 0.12, 0.05])
EXAMINATION = np.array([1.0, 0.7, 0.45, 0.25])
SATISFACTION = np.array([0.9, 0.7, 0.4, 0.2])
#: γ of the user browsing model: by position and by the last position clicked, 0 if none.
BROWSING = np.array(
    [[1.0, 0, 0, 0], [0.4, 0.95, 0, 0], [0.15, 0.3, 0.9, 0], [0.05, 0.1, 0.3, 0.85]]
)
#: Of the dynamic Bayesian network model: of each item, and going on without being satisfied.
ITEM_SATISFACTION = np.array([0.05, 0.9, 0.2, 0.95, 0.5, 0.5])
CONTINUATION = 0.8
#: Items of odd number are clicked most at the last position, the others at the first.
MATRIX = np.where(
    np.arange(6)[:, None] % 2 == 1,
    np.outer(ATTRACTION, EXAMINATION[::-1]),
    np.outer(ATTRACTION, EXAMINATION),
)


def random_lists(n: int, rng: np.random.Generator, n_items: int = 6, width: int = 4) -> Ints:
    """Draw lists, all equally likely."""
    return np.argsort(rng.random((n, n_items)), axis=1)[:, :width]


def lists_near(order: Ints, n: int, rng: np.random.Generator, noise: float, width: int = 4) -> Ints:
    """Draw lists of items in an order, moved a little at random."""
    keys = np.arange(order.size) + noise * rng.normal(size=(n, order.size))
    found: Ints = order[np.argsort(keys, axis=1)[:, :width]]
    return found


def drawn_clicks(
    model: str, lists: Ints, rng: np.random.Generator, attraction: Floats = ATTRACTION
) -> NDArray[np.uint8]:
    """Draw the clicks on each list by the model of this name."""
    n, width = lists.shape
    attracted = rng.random(lists.shape) < attraction[lists]
    clicks = np.zeros(lists.shape, dtype=np.uint8)
    if model == "dctr":
        return attracted.astype(np.uint8)
    if model == "pbm":
        return (attracted & (rng.random(lists.shape) < EXAMINATION)).astype(np.uint8)
    if model == "click-matrix":
        return (rng.random(lists.shape) < MATRIX[lists, np.arange(width)]).astype(np.uint8)
    if model == "mnl":
        weight = attraction[lists] * EXAMINATION
        shares = np.cumsum(weight, axis=1) / (1.0 + weight.sum(axis=1, keepdims=True))
        taken = (rng.random((n, 1)) > shares).sum(axis=1)
        rows = np.flatnonzero(taken < width)
        clicks[rows, taken[rows]] = 1
        return clicks
    there = np.ones(n, dtype=np.bool_)
    last = np.zeros(n, dtype=np.int64)
    for k in range(width):
        if model == "ubm":
            clicks[:, k] = attracted[:, k] & (rng.random(n) < BROWSING[k, last])
            last = np.where(clicks[:, k] == 1, k + 1, last)
            continue
        clicked = there & attracted[:, k]
        clicks[:, k] = clicked
        stay = {
            "cascade": np.zeros(n),
            "dcm": np.full(n, 1.0 - SATISFACTION[k]),
            "dbn": 1.0 - ITEM_SATISFACTION[lists[:, k]],
        }[model]
        there &= ~clicked | (rng.random(n) < stay)
        if model == "dbn":
            there &= rng.random(n) < CONTINUATION
    return clicks


def log_of(model: str, n: int, seed: int = 0) -> Counts:
    """Count a log of random lists."""
    rng = np.random.default_rng(seed)
    lists = random_lists(n, rng)
    return Counts.of_lists(lists, drawn_clicks(model, lists, rng))
