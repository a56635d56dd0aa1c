"""Checks of kernels: as plain Python, without their cache, and compared with the plain ones."""

from __future__ import annotations

import dataclasses
from collections import deque

import numpy as np

from clickrank._compile.jit import interpreted
from clickrank._core.arrays import Ints
from clickrank._core.rng import streams
from clickrank.checks.playing import HORIZON, Log, Make, learner_for, matched_model
from clickrank.clickmodels import ClickModel
from clickrank.learning import Learner
from clickrank.policies import Policy
from clickrank.policies._shared.packed_states import unpacked
from clickrank.policies.capabilities import relabelled
from clickrank.policies.contract import ANY_ITEMS, has_fast_kernels, rank, update

#: Rounds in plain Python: enough to reach most lines, and few enough to be fast.
INTERPRETED_ROUNDS = 20
#: Rounds in which fast and plain kernels are compared, without late feedback and with it.
SAME_ROUNDS, LATE_ROUNDS, LATE = 1000, 300, 5


def check_plain_python(cls: type[Policy], make: Make) -> None:
    """Some rounds run without the compiler: an error is a traceback with the file and the line.

    An index out of range, which machine code does not notice, is an IndexError here.
    """
    model = matched_model(cls, 6, 3)
    policy = make(model, HORIZON)
    for reference in {True, not has_fast_kernels(cls)}:
        spec = dataclasses.replace(policy, reference=reference)
        learner = Learner(spec, 6, model.n_positions)
        rng = streams(19, 0)
        memo = np.zeros(learner.memo_size, dtype=np.int64)
        ranking = np.zeros(model.n_positions, dtype=np.int64)
        fixed = learner.params, learner.state, learner.cache
        with interpreted(), np.errstate(all="ignore"):
            for _ in range(INTERPRETED_ROUNDS):
                rank(*fixed, ANY_ITEMS, rng.policy, ranking, memo)
                update(*fixed, ranking, memo, model.sample(ranking, rng.users))


def check_same_as_reference(cls: type[Policy], make: Make) -> None:
    """Fast and plain kernels give the same rankings, memos and statistics, round by round."""
    model = matched_model(cls, 6, 3)
    policy = make(model, SAME_ROUNDS)
    other = relabelled(dataclasses.replace(policy, reference=True), np.arange(6)[::-1])
    assert other.reference, f"{cls.__name__}: relabelled forgets that it is a reference"
    if not has_fast_kernels(cls):
        return
    for late, rounds in ((0, SAME_ROUNDS), (LATE, LATE_ROUNDS)):
        fast, plain = (
            Learner(dataclasses.replace(policy, reference=reference), 6, model.n_positions)
            for reference in (False, True)
        )
        assert_same_rounds(fast, plain, model, rounds, "by the reference", late=late)


def check_dropped_cache(cls: type[Policy], make: Make) -> None:
    """Dropping the cache before every round changes no ranking."""
    for late in (0, LATE):
        one, model = learner_for(cls, make)
        two = Learner(one.policy, one.n_items, one.n_positions)
        if one.cache is None:
            return
        what = "without its cache"
        assert_same_rounds(one, two, model, LATE_ROUNDS, what, late=late, drop=True)


def assert_same_rounds(
    one: Learner,
    two: Learner,
    users: ClickModel,
    rounds: int,
    what: str,
    *,
    late: int = 0,
    batch: int = 1,
    seed: int = 20,
    drop: bool = False,
) -> Log:
    """Raise unless two learners show the same lists to the same users; return what they learned.

    Feedback is ``late`` rounds late and handed over once in ``batch`` rounds. With ``drop`` the
    second loses its cache before every list.
    """
    name = type(one.policy).__name__
    ours, theirs = streams(seed, 0), streams(seed, 0)
    flying: deque[tuple[Ints, Ints, Ints]] = deque()
    log: Log = []
    for t in range(rounds):
        if drop:
            two.drop_cache()
        ranking, memo = one.rank(ours.policy)
        other, other_memo = two.rank(theirs.policy)
        same = np.array_equal(ranking, other) and np.array_equal(memo, other_memo)
        assert same, (
            f"{name}: round {t} shows {ranking.tolist()} and {other.tolist()} {what} "
            f"(memos {memo.tolist()}, {other_memo.tolist()})"
        )
        flying.append((ranking, memo, users.sample(ranking, ours.users)))
        while (t + 1) % batch == 0 and len(flying) > late:
            log.append(flying.popleft())
            one.update(*log[-1])
            two.update(*log[-1])
    states = [unpacked(learner.policy, learner.state)._asdict() for learner in (one, two)]
    for field, array in states[0].items():
        same = np.array_equal(array, states[1][field])
        assert same, f"{name}: the statistic {field} is another one {what}"
    return log
