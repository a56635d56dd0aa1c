"""Checks of policies when items are added, removed, or limited to candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clickrank._core.arrays import Ints, numbers_of, statistic_fields
from clickrank._core.rng import streams
from clickrank.checks.playing import HORIZON, Make, assert_same, matched_model, play
from clickrank.errors import InvalidValue
from clickrank.learning import ContextState, Learner
from clickrank.learning.carry_over import carried, carry
from clickrank.learning.subset_learner import SubsetLearner
from clickrank.policies import Policy
from clickrank.policies._shared.packed_states import unpacked
from clickrank.policies.capabilities import ItemsComeAndGo, memos_for, relabelled
from clickrank.policies.contract import Request, scores_items

_SMALL, _LARGE, _POSITIONS = 6, 8, 3
_ROUNDS = 400  # enough for policies that eliminate items with confidence to do so
_GONE = (1, 4)


def check_more_items(cls: type[Policy], make: Make) -> None:
    """Statistics carried over to more items equal those of a log with these items from the start.

    If items cannot come and go, only memos are checked: the log is folded again with them.
    """
    # The small catalogue has the first items of the large one, so that their users are the same.
    model = matched_model(cls, _LARGE, _POSITIONS)
    large = make(model, HORIZON)
    keep = np.arange(_SMALL)
    shown, memos, clicks = _log(cls, make)
    if not issubclass(cls, ItemsComeAndGo):
        _check_memos(large, memos)
        return
    small = Learner(relabelled(large, keep), _SMALL, model.n_positions)
    small.update_many(shown, memos, clicks)
    origin = np.append(keep, np.full(_LARGE - _SMALL, -1))
    made = unpacked(large, carried(large, model.n_positions, small.state, _SMALL, origin))
    from_the_start = Learner(large, _LARGE, model.n_positions)
    called = memos_for(large, memos, keep, _LARGE)
    assert called is not None, f"{cls.__name__}: its memos must fit more items"
    from_the_start.update_many(shown, called, clicks)
    want = unpacked(large, from_the_start.state)
    assert_same(_statistics(want), _statistics(made), f"{cls.__name__}: more items changed")
    first = unpacked(large, small.state)
    for name in statistic_fields(type(made)):
        before, after = getattr(first, name).shape, getattr(made, name).shape
        if name in cls.by_item:
            rows, rest = divmod(before[0], _SMALL)
            fits = rest == 0 and after == (rows * _LARGE, *before[1:])
        elif name in cls.by_pair:
            fits = (before, after) == ((_SMALL, _SMALL), (_LARGE, _LARGE))
        else:
            fits = before == after
        assert fits, f"{cls.__name__}: by_item or by_pair is wrong about {name}"


def check_fewer_items(cls: type[Policy], make: Make) -> None:
    """Statistics of some items equal those that a state of these learns from the same lists."""
    if not issubclass(cls, ItemsComeAndGo):
        return
    model = matched_model(cls, _LARGE, _POSITIONS)
    policy = make(model, HORIZON)
    learned = ContextState(policy, _LARGE, model.n_positions, _GONE)
    left = np.setdiff1d(np.arange(_LARGE), _GONE)
    numbers = numbers_of(left, _LARGE)
    some = relabelled(policy, left)
    alone = Learner(some, left.size, model.n_positions)
    carry(alone, learned.learner.state, _LARGE, left)
    rng = streams(17, 0)
    for _ in range(_ROUNDS):
        ranking, memo = learned.rank(rng.policy)
        clicks = model.sample(ranking, rng.users)
        learned.update_many([ranking], [memo], [clicks])
        called = memos_for(policy, memo[None], numbers, left.size)
        assert called is not None, f"{cls.__name__}: its memos must fit fewer items"
        alone.update_many([numbers[ranking]], called, [clicks])
    made = unpacked(some, carried(some, model.n_positions, learned.learner.state, _LARGE, left))
    want = unpacked(some, alone.state)
    rule = f"{cls.__name__}: with fewer items it learned another"
    assert_same(_statistics(want), _statistics(made), rule)


def _statistics(state: Any) -> dict[str, NDArray[Any]]:
    return {name: getattr(state, name) for name in statistic_fields(type(state))}


def check_candidates(cls: type[Policy], make: Make) -> None:
    """A list for candidates shows only these; with all items as candidates nothing changes."""
    model = matched_model(cls, _SMALL, _POSITIONS)
    learned = ContextState(make(model, HORIZON), _SMALL, model.n_positions)
    if not issubclass(cls, ItemsComeAndGo):
        try:
            learned.rank(np.random.default_rng(0), [0, 1, 2, 3])
        except InvalidValue:
            return
        raise AssertionError(f"{cls.__name__}: takes candidates without ItemsComeAndGo")
    learned = learned.fold(*_log(cls, make))
    before = learned.statistics()
    for seed in range(10):
        for allowed in ([1, 2, 4, 5], [5, 0, 3]):
            ranking, memo = learned.rank(np.random.default_rng(seed), allowed)
            items = ranking.tolist()
            good = len(set(items)) == model.n_positions and set(items) <= set(allowed)
            assert good, f"{cls.__name__}: {items} of the candidates {allowed}"
            learned.fold([ranking], [memo], [[0, 1, 0][: model.n_positions]])
    assert_same(before, learned.statistics(), f"{cls.__name__}: candidates changed")
    _check_all_candidates(cls, learned)


def _check_all_candidates(cls: type[Policy], learned: ContextState) -> None:
    for seed in range(10 if scores_items(cls) else 0):
        forks = learned.learner.fork(), learned.learner.fork()
        one, _ = forks[0].rank(np.random.default_rng(seed))
        two, _ = forks[1].rank(np.random.default_rng(seed), Request(np.arange(_SMALL)))
        assert np.array_equal(one, two), f"{cls.__name__}: all items as candidates {two}, not {one}"
    for seed in range(10):
        # Without a cache, like the learner for candidates.
        fresh = learned.restored(learned.statistics())
        items = np.arange(_SMALL)
        some = SubsetLearner(learned.policy, items, _SMALL, learned.n_positions)
        some.carry(learned.learner.state)
        one, two = (each.rank(np.random.default_rng(seed))[0] for each in (fresh, some))
        assert np.array_equal(one, two), f"{cls.__name__}: all items as candidates {two}, not {one}"


def _log(cls: type[Policy], make: Make) -> tuple[Ints, Ints, Ints]:
    """Play some rounds with few items."""
    model = matched_model(cls, _SMALL, _POSITIONS)
    learner = Learner(make(model, HORIZON), _SMALL, model.n_positions)
    shown, memos, clicks = zip(*play(learner, model, _ROUNDS, seed=16), strict=True)
    return np.array(shown), np.array(memos), np.array(clicks)


def _check_memos(policy: Policy, memos: Ints) -> None:
    """Renumbering the items in memos, and renumbering them back, changes nothing."""
    order = np.array([3, 0, 4, 1, 5, 2])
    called = memos_for(policy, memos, order, _SMALL)
    if called is not None:
        back = memos_for(policy, called, numbers_of(order, _SMALL), _SMALL)
        same = np.array_equal(memos, np.asarray(back))
        assert same, f"{type(policy).__name__}: memos_for cannot be undone"
