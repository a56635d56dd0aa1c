"""A check that relabelling positions relabels the result, if any order of positions is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np

from clickrank._core.arrays import Floats, Ints
from clickrank.checks.click_model_checks import has_position_effects
from clickrank.checks.playing import Make, assert_same_views
from clickrank.clickmodels import CLICK_MODELS, ClickModel
from clickrank.learning import Learner
from clickrank.policies import Policy
from clickrank.policies.capabilities import relabelled_positions

N_ITEMS, N_POSITIONS, RUNS, LISTS = 4, 3, 150, 6
#: The policy's position k is the page's position ``order[k]``. If a policy assumes that the first
#: position is examined most, this position is not moved.
ORDERS = {"any": np.array([2, 0, 1]), "first": np.array([0, 2, 1])}
#: Rotations, which show every item at every position.
ROTATIONS = (np.arange(N_ITEMS)[:, None] + np.arange(N_POSITIONS)) % N_ITEMS
NO_CLICK = np.zeros(N_POSITIONS, dtype=np.int64)
Shown = tuple[Ints, Ints]
#: Lists and clicks. In the first history one list is best and its positions look alike, in the
#: second all positions look alike for every item.
HISTORIES: tuple[list[Shown], ...] = (
    [(page, NO_CLICK) for page in ROTATIONS] * 4
    + [(ROTATIONS[0], NO_CLICK), (ROTATIONS[0], 1 - NO_CLICK)] * 12,
    [(page, (page < view).astype(np.int64)) for view in range(N_ITEMS) for page in ROTATIONS],
)


def check_relabelling_positions(cls: type[Policy], make: Make) -> None:
    """After the same history with the positions relabelled, the next lists are relabelled.

    It passes if the lists agree one by one when the policy draws the same random numbers. A policy
    that draws numbers for ties, or for each position, cannot agree in that way. For such a policy
    the views by item and position are compared, over many runs, by a normal test for each. The
    probability of a false alarm over all cells is below 1e-6.
    """
    order, model = ORDERS.get(cls.assumes.positions), _page_without_order(cls)
    if order is None or model is None:
        return
    policy = make(model, 1000)
    same = np.arange(N_POSITIONS)
    for history in HISTORIES:
        given = [_next_lists(policy, history, same, run) for run in range(RUNS)]
        if all(
            np.array_equal(lists, _next_lists(policy, history, order, run))
            for run, lists in enumerate(given)
        ):
            continue
        other = [_next_lists(policy, history, order, RUNS + run) for run in range(RUNS)]
        shown = [np.array([_views(lists) for lists in runs]) for runs in (given, other)]
        rule = "depends on the numbers of the positions (ties by number? see top_k)"
        # 2·(1 - Φ(5.9)) · 24 cells < 1e-6
        assert_same_views(shown[0], shown[1], 5.9, f"{cls.__name__}: {rule}")


def _page_without_order(cls: type[Policy]) -> ClickModel | None:
    """Return a click model that the policy assumes and whose positions have no order, if any."""
    for name in cls.assumes.click_models or (cls.checked_on,):
        build: Any = CLICK_MODELS[name]
        if not build.reads_in_order and has_position_effects(build):
            made: ClickModel = build(np.linspace(0.8, 0.2, N_ITEMS), [0.9, 0.6, 0.3])
            return made
    return None


def _next_lists(policy: Policy, history: list[Shown], positions: Ints, seed: int) -> Ints:
    """Return the lists that follow a history, both in the page's order of positions."""
    learner = Learner(relabelled_positions(policy, positions), N_ITEMS, N_POSITIONS)
    rng = np.random.default_rng(seed)
    pages, clicks = (np.array(part)[:, positions] for part in zip(*history, strict=True))
    if learner.memo_size == 0:
        learner.update_many(pages, np.zeros((len(history), 0), dtype=np.int64), clicks)
    else:
        for row in range(len(history)):
            learner.update(pages[row], learner.rank(rng)[1], clicks[row])
    lists = np.zeros((LISTS, N_POSITIONS), dtype=np.int64)
    for page in lists:
        page[positions] = learner.rank(rng)[0]
    return lists


def _views(lists: Ints) -> Floats:
    """Return how often each item was shown at each position."""
    views = np.zeros((N_ITEMS, N_POSITIONS))
    for row in lists:
        views[row, np.arange(N_POSITIONS)] += 1.0
    return views
