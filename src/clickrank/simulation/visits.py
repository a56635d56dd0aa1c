"""Visits of simulated users: the clicks on a ranking, and its regret."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clickrank._compile.callbacks import Callback, Held, callback, data_at, numbers_at
from clickrank._compile.jit import inline_kernel, tell_apart
from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels.click_model import ClickModel, code_of, sample, value


class Users(NamedTuple):
    """The users of one run, and the regret that they saw."""

    params: Any  # parameters of their click model
    rng: np.random.Generator
    positions: Ints  # (n_positions,): the policy's position k is the page's positions[k]
    page: Ints  # (2, n_positions): the current ranking and its clicks, in the page's order
    best: float  # the largest value of a ranking
    counted: int  # number of positions of the page, from the first, on which regret is measured
    checkpoints: Ints  # rounds after which to write the regret, in increasing order
    counters: Ints  # (2,): rounds until the next checkpoint, checkpoints passed
    total: Floats  # (1,): cumulative expected regret
    regret: Floats  # (n_checkpoints,)


tell_apart(Users)


def users_of(
    model: ClickModel,
    rng: np.random.Generator,
    positions: Ints,
    best: float,
    counted: int,
    checkpoints: Ints,
) -> Users:
    """Return users before the first round."""
    return Users(
        params=model.params,
        rng=rng,
        positions=positions,
        page=np.zeros((2, model.n_positions), dtype=np.int64),
        best=best,
        counted=counted,
        checkpoints=checkpoints,
        counters=np.array([checkpoints[0], 0]),
        total=np.zeros(1),
        regret=np.zeros(checkpoints.size),
    )


def showing(held: Held, model: ClickModel) -> Callback:
    """Return the callback that shows rankings to users, who are stored in ``held``."""
    return callback(visit, _visit_at, held, code_of(model))


@inline_kernel
def visit(users: Users, ranking: Ints, clicks: Ints) -> None:
    """Show a ranking, write its clicks, and count its regret, in the page's order of positions."""
    page, page_clicks = users.page[0], users.page[1]
    for k in range(ranking.shape[0]):
        page[users.positions[k]] = ranking[k]
    sample(users.params, page, users.rng, page_clicks)
    for k in range(ranking.shape[0]):
        clicks[k] = page_clicks[users.positions[k]]
    users.total[0] += users.best - value(users.params, page[: users.counted])
    users.counters[0] -= 1
    if users.counters[0] == 0:
        passed = users.counters[1]
        users.regret[passed] = users.total[0]
        users.counters[1] = passed + 1
        if passed + 1 < users.checkpoints.shape[0]:
            users.counters[0] = users.checkpoints[passed + 1] - users.checkpoints[passed]


def _visit_at(users: Any, n: int, ranking: Any, clicks: Any) -> None:
    visit(data_at(users), numbers_at(ranking, n), numbers_at(clicks, n))
