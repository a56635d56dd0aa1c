"""Bounds that figures show as lines, by the names that specifications use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.bounds import (
    grab_upper_bound,
    kl_comb_ucb_upper_bound,
    linear_lower_bound,
    linear_upper_bound,
    mnl_lower_bound,
    mnl_upper_bound,
    pb_lower_bound,
    unirank_upper_bound,
)
from clickrank.clickmodels import ClickModel
from clickrank.errors import InvalidValue, invalid
from clickrank.plots import Reference


class Line(NamedTuple):
    """A bound: its label in figures, and a function of a click model and round numbers."""

    label: str
    value: Callable[[ClickModel, Floats], Floats]


def _logarithmic(constant: Callable[..., float]) -> Callable[[ClickModel, Floats], Floats]:
    """Return a bound C·log t, for a function that returns C."""

    def at(model: ClickModel, rounds: Floats) -> Floats:
        factor = constant(model)
        if math.isinf(factor):
            return np.full(rounds.size, math.inf)
        found: Floats = factor * np.log(rounds)
        return found

    return at


def _linear(bound: Callable[[int, int, int, int], float]) -> Callable[[ClickModel, Floats], Floats]:
    """Return a bound as a function of the numbers of items, positions, features and rounds."""

    def at(model: ClickModel, rounds: Floats) -> Floats:
        features = getattr(model, "features", None)
        if features is None:
            raise invalid("references", "model must have features", model)
        sizes = (model.n_items, model.n_positions, features.n_features)
        return np.array([bound(*sizes, int(t)) for t in rounds.tolist()])

    return at


def _logit(bound: Callable[..., float]) -> Callable[[ClickModel, Floats], Floats]:
    """Return a bound as a function of the position biases and the numbers of items and rounds."""

    def at(model: ClickModel, rounds: Floats) -> Floats:
        bias = getattr(model, "position_bias", None)
        if bias is None:
            raise invalid("references", "model must have position biases", model)
        return np.array([bound(bias, model.n_items, int(t)) for t in rounds.tolist()])

    return at


#: Lower bounds, and the leading terms of upper bounds.
LINES: dict[str, Line] = {
    "pb-lower": Line("lower bound", _logarithmic(pb_lower_bound)),
    "grab-upper": Line("upper bound of GRAB", _logarithmic(grab_upper_bound)),
    "kl-comb-ucb-upper": Line("upper bound of KL-CombUCB", _logarithmic(kl_comb_ucb_upper_bound)),
    "unirank-upper": Line("upper bound of UniRank", _logarithmic(unirank_upper_bound)),
    "recurrank-upper": Line("upper bound of RecurRank", _linear(linear_upper_bound)),
    "epoch-ucb-upper": Line("upper bound of Epoch-UCB", _logit(mnl_upper_bound)),
    "mnl-lower": Line("minimax lower bound", _logit(mnl_lower_bound)),
    "linear-lower": Line(
        "minimax lower bound", _linear(lambda _, k, d, t: linear_lower_bound(k, d, t))
    ),
}


def reference_lines(
    names: list[str], models: Mapping[str, ClickModel], rounds: Floats
) -> tuple[list[Reference], list[str]]:
    """Return the lines to draw, averaged over the models, and why others are not drawn.

    A bound is vacuous, and not drawn, where it is above the regret of losing every click.
    """
    all_clicks = np.mean([model.best_value() for model in models.values()]) * rounds
    lines, reasons = [], []
    for name in names:
        line = LINES[name]
        try:
            values = np.mean([line.value(model, rounds) for model in models.values()], axis=0)
        except InvalidValue as error:
            reasons.append(f"The {line.label} is not drawn: {error}")
            continue
        informative = (values > 0.0) & (values < all_clicks)
        if informative.any():
            lines.append(Reference(line.label, rounds[informative], values[informative]))
        elif math.isinf(values[-1]):
            reasons.append(f"The {line.label} is not drawn: it is infinite here.")
        elif values[-1] <= 0.0:
            reasons.append(f"The {line.label} is not drawn: it is 0 here.")
        else:
            reasons.append(
                f"The {line.label}, {values[-1]:,.0f} at round {rounds[-1]:,.0f}, is not drawn: "
                f"it is above all {all_clicks[-1]:,.0f} clicks that could be lost by then."
            )
    return lines, reasons
