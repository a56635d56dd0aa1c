"""Checks of what policies do with other items than they began with."""

from __future__ import annotations

import numpy as np

from clickrank.checks.playing import HORIZON, Make, assert_same, matched_model, play
from clickrank.errors import InvalidValue
from clickrank.policies import Learner, Policy
from clickrank.policies.carry import carried
from clickrank.ranker import Learned
from clickrank.types import Ints, numbers_of, statistic_fields

_SMALL, _LARGE, _POSITIONS = 6, 8, 3
_ROUNDS = 60


def check_more_items(cls: type[Policy], make: Make) -> None:
    """Statistics carried to more items are those of the same log with these items from the start.

    A policy that has no `by_item` has its log folded anew; then its memos are what may not fit.
    """
    # The small catalogue is the first items of the large one, whose users then are the same.
    model = matched_model(cls, _LARGE, _POSITIONS)
    large = make(model, HORIZON)
    keep = np.arange(_SMALL)
    shown, memos, clicks = _log(cls, make)
    if cls.by_item is None:
        _check_memos(large, memos)
        return
    small = Learner(large.relabelled(keep), _SMALL, _POSITIONS)
    small.fold(shown, memos, clicks)
    origin = np.append(keep, np.full(_LARGE - _SMALL, -1))
    made = carried(large, _POSITIONS, small.state, _SMALL, origin)
    from_the_start = Learner(large, _LARGE, _POSITIONS)
    from_the_start.fold(shown, memos, clicks)
    names = statistic_fields(type(made))
    arrays = {name: getattr(made, name) for name in names}
    assert_same(from_the_start.statistics(), arrays, f"{cls.__name__}: more items changed")
    for name in names:
        before = getattr(small.state, name).shape
        if name in cls.by_item:
            fits = getattr(made, name).shape == (_LARGE, *before[1:])
            fits = fits and before[0] == _SMALL
        else:
            fits = getattr(made, name).shape == before
        assert fits, f"{cls.__name__}: by_item is wrong about {name}"


def check_candidates(cls: type[Policy], make: Make) -> None:
    """A list of candidates holds these alone, and a list of all is one without candidates."""
    model = matched_model(cls, _SMALL, _POSITIONS)
    learned = Learned(make(model, HORIZON), _SMALL, _POSITIONS)
    if cls.by_item is None:
        try:
            learned.rank(np.random.default_rng(0), [0, 1, 2, 3])
        except InvalidValue:
            return
        raise AssertionError(f"{cls.__name__}: takes candidates without by_item")
    learned = learned.fold(*_log(cls, make))
    before = learned.statistics()
    for seed in range(10):
        for allowed in ([1, 2, 4, 5], [5, 0, 3]):
            ranking, memo = learned.rank(np.random.default_rng(seed), allowed)
            items = ranking.tolist()
            good = len(set(items)) == _POSITIONS and set(items) <= set(allowed)
            assert good, f"{cls.__name__}: {items} of the candidates {allowed}"
            learned.fold([ranking], [memo], [[0, 1, 0]])
    assert_same(before, learned.statistics(), f"{cls.__name__}: candidates changed")
    _check_all_candidates(cls, learned)


def _check_all_candidates(cls: type[Policy], learned: Learned) -> None:
    if cls.best_of is not Policy.best_of:
        for seed in range(10):
            ranking, _ = learned.rank(np.random.default_rng(seed))
            best = learned.policy.best_of(learned._learner.state, np.arange(_SMALL))
            same = np.array_equal(ranking, np.asarray(best))
            assert same, f"{cls.__name__}: best_of {best}, not {ranking}"
        return
    for seed in range(10):
        # Without scratch, as the candidates' learner is.
        fresh, some = learned.restored(learned.statistics()), learned._only(np.arange(_SMALL))
        one, two = (each.rank(np.random.default_rng(seed))[0] for each in (fresh, some))
        assert np.array_equal(one, two), f"{cls.__name__}: all items as candidates {two}, not {one}"


def _log(cls: type[Policy], make: Make) -> tuple[Ints, Ints, Ints]:
    """Play some rounds with few items."""
    model = matched_model(cls, _SMALL, _POSITIONS)
    learner = Learner(make(model, HORIZON), _SMALL, _POSITIONS)
    shown, memos, clicks = zip(*play(learner, model, _ROUNDS, seed=16), strict=True)
    return np.array(shown), np.array(memos), np.array(clicks)


def _check_memos(policy: Policy, memos: Ints) -> None:
    """Numbers of items in memos can be changed and changed back, if they can be changed."""
    order = np.array([3, 0, 4, 1, 5, 2])
    called = policy.memos_for(memos, order)
    if called is not None:
        back = policy.memos_for(called, numbers_of(order, _SMALL))
        same = np.array_equal(memos, np.asarray(back))
        assert same, f"{type(policy).__name__}: memos_for cannot be undone"
