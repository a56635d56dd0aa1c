"""Expected rewards of lists by a click model, which is given or fitted to a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import ClickModel
from clickrank.clickmodels.click_model import click_probabilities, code_of, log_prob
from clickrank.errors import invalid
from clickrank.evaluate.estimator import Reward
from clickrank.logs import Counts, Impressions

#: A click model, the name of one to fit to the log, or a function that fits one.
ModelOrFit: TypeAlias = ClickModel | str | Callable[[Counts], ClickModel]


def expected_rewards(model: ClickModel, rankings: Ints, reward: Reward) -> Floats:
    """Return the reward that a model expects at each position of each list.

    For the reward "any click", the probability of a click is divided among the positions in
    proportion to their click probabilities.
    """
    clicks = np.zeros(rankings.shape)
    no_click = np.zeros(len(rankings))
    kernel_for(_expect_all, code_of(model))(model.params, rankings, clicks, no_click)
    if reward == "clicks":
        return clicks
    total = clicks.sum(axis=1)
    share = np.divide(1.0 - no_click, total, out=np.zeros_like(total), where=total > 0.0)
    clicks *= share[:, None]
    return clicks


def _expect_all(params: Any, rankings: Ints, expected: Floats, no_click: Floats) -> None:
    """Write the click probability of each position, and the probability of no click at all."""
    clicks = np.zeros(rankings.shape[1], dtype=np.int64)
    for i in range(rankings.shape[0]):
        click_probabilities(params, rankings[i], expected[i])
        no_click[i] = np.exp(log_prob(params, rankings[i], clicks))


def model_of(model: ModelOrFit, counts: Counts, owner: str) -> ClickModel:
    """Return the click model, fitted to the counts unless it is given."""
    if isinstance(model, ClickModel):
        return model
    if isinstance(model, str):
        from clickrank import fit

        return fit.fit(model, counts).model()
    found = model(counts)
    if not isinstance(found, ClickModel):
        raise invalid(owner, "model must be a click model, or a function that returns one", found)
    return found


def check_model(model: ClickModel, log: Impressions, owner: str) -> None:
    """Raise if a click model has other numbers of items or positions than the log."""
    shape = len(log.items), log.rankings.shape[1]
    if (model.n_items, model.n_positions) != shape:
        rule = f"the click model must have {shape[0]} items and {shape[1]} positions"
        raise invalid(owner, rule, (model.n_items, model.n_positions))
