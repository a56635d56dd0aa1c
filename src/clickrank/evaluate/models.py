"""What a click model expects of many lists, and click models fitted to a log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from clickrank._compile.jit import kernel_for
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import ClickModel
from clickrank.clickmodels.click_model import click_probabilities, code_of, log_prob
from clickrank.errors import invalid
from clickrank.evaluate.base import Reward
from clickrank.logs import Counts, Impressions

#: A click model, the name of one to fit to the log, or a function that fits one.
ModelOrFit: TypeAlias = ClickModel | str | Callable[[Counts], ClickModel]


def expected_rewards(model: ClickModel, rankings: Ints, reward: Reward) -> Floats:
    """Return what the model expects each position of each list to earn.

    For any click, the chance of one is spread over the positions as clicks are.
    """
    chances = np.zeros(rankings.shape)
    none = np.zeros(len(rankings))
    kernel_for(_expect_all, code_of(model))(model.params, rankings, chances, none)
    if reward == "clicks":
        return chances
    total = chances.sum(axis=1)
    share = np.divide(1.0 - none, total, out=np.zeros_like(total), where=total > 0.0)
    chances *= share[:, None]
    return chances


def _expect_all(params: Any, rankings: Ints, chances: Floats, none: Floats) -> None:
    clicks = np.zeros(rankings.shape[1], dtype=np.int64)
    for i in range(rankings.shape[0]):
        click_probabilities(params, rankings[i], chances[i])
        none[i] = np.exp(log_prob(params, rankings[i], clicks))


def model_of(model: ModelOrFit, counts: Counts, owner: str) -> ClickModel:
    """Return the click model, fitted if need be."""
    if isinstance(model, ClickModel):
        return model
    if isinstance(model, str):
        from clickrank import fit

        return fit.fit(model, counts).model()
    found = model(counts)
    if not isinstance(found, ClickModel):
        raise invalid(owner, "model must be a click model, or give one", found)
    return found


def check_model(model: ClickModel, log: Impressions, owner: str) -> None:
    """Check that a click model is of the log's page."""
    shape = len(log.items), log.rankings.shape[1]
    if (model.n_items, model.n_positions) != shape:
        rule = f"the click model must have {shape[0]} items and {shape[1]} positions"
        raise invalid(owner, rule, (model.n_items, model.n_positions))
