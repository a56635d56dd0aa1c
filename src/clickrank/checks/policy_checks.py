"""Checks of policies: `check_policy` runs all of them on a policy, including your own.

    from clickrank.checks import check_policy
    check_policy(MyPolicy)

Each check raises AssertionError with a message that names the policy, the rule and the numbers.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from clickrank._core.arrays import statistic_fields
from clickrank._core.registry import is_kebab_case
from clickrank._core.rng import streams
from clickrank.checks.catalogue_checks import check_candidates, check_fewer_items, check_more_items
from clickrank.checks.kernel_checks import (
    check_dropped_cache,
    check_plain_python,
    check_same_as_reference,
)
from clickrank.checks.playing import (
    HORIZON,
    Make,
    assert_same,
    assert_same_views,
    by_name,
    learner_for,
    matched_model,
    play,
    play_with,
    rankings_of_run,
)
from clickrank.checks.position_relabelling_check import check_relabelling_positions
from clickrank.checks.propensity_checks import check_propensities
from clickrank.checks.restart_checks import check_restart
from clickrank.errors import InvalidValue
from clickrank.learning import Learner
from clickrank.policies import POLICIES, Policy
from clickrank.policies import policy as make_policy
from clickrank.policies._shared.packed_states import first_state
from clickrank.policies.capabilities import relabelled
from clickrank.policies.policy_spec import settings_of
from clickrank.simulation import simulate

#: (n_items, n_positions) of the edge cases.
EDGE_SHAPES = ((1, 1), (2, 1), (4, 1), (4, 4), (7, 3))
#: The number of rounds in which a policy must show that it learns, unless another one is given.
LEARNS_WITHIN = 3_000
# The number of runs in which a policy is compared, and of standard errors that count as evidence:
# Student's t with 15 degrees of freedom exceeds them with a probability of 1e-6.
RUNS, EVIDENCE = 16, 7.47


def check_registered_name(cls: type[Policy], make: Make) -> None:
    """The policy is registered, under a name in kebab case."""
    assert is_kebab_case(cls.name), f"{cls.__name__}: name must be kebab case, got {cls.name!r}"
    assert POLICIES.get(cls.name) is cls, f"{cls.__name__}: not registered as {cls.name!r}"


def check_valid_rankings(cls: type[Policy], make: Make) -> None:
    """Rankings have distinct items at every edge shape, with and without clicks."""
    for n_items, n_positions in EDGE_SHAPES:
        model = matched_model(cls, n_items, n_positions)
        learner = Learner(make(model, HORIZON), n_items, model.n_positions)
        for ranking, _, _ in play(learner, model, 60, seed=1):
            items = ranking.tolist()
            good = len(set(items)) == model.n_positions and all(0 <= i < n_items for i in items)
            assert good, f"{cls.__name__}: invalid ranking {items} of {n_items} items"


def check_rank_keeps_statistics(cls: type[Policy], make: Make) -> None:
    """`rank` may change the cache, but never the statistics."""
    learner, model = learner_for(cls, make)
    play(learner, model, 50, seed=2)
    before = learner.statistics()
    rng = np.random.default_rng(0)
    for _ in range(20):
        learner.rank(rng)
    assert_same(before, learner.statistics(), f"{cls.__name__}: rank changed the statistic")


def check_inputs_untouched(cls: type[Policy], make: Make) -> None:
    """Neither `rank` nor `update` stores or changes the arrays it is given."""
    learner, model = learner_for(cls, make)
    rng = streams(3, 0)
    for _ in range(30):
        ranking, memo = learner.rank(rng.policy)
        clicks = model.sample(ranking, rng.users)
        given = (ranking.copy(), memo.copy(), clicks.copy())
        one = ranking[None], memo[None], clicks[None]
        learner._learn(*one)
        for now, then in zip((ranking, memo, clicks), given, strict=True):
            assert np.array_equal(now, then), f"{cls.__name__}: update changed {then} to {now}"
        before = learner.arrays()
        ranking[:], memo[:], clicks[:] = -1, -1, -1
        assert_same(before, learner.arrays(), f"{cls.__name__}: an input was kept in")


def check_same_seed(cls: type[Policy], make: Make) -> None:
    """The same seed gives the same run, whatever ran before and on how many threads."""
    model = matched_model(cls, 6, 3)
    policy = make(model, HORIZON)
    first = simulate(policy, model, HORIZON, runs=3, seed=5, threads=1).regret
    simulate(policy, model, HORIZON, runs=1, seed=6)
    second = simulate(policy, model, HORIZON, runs=3, seed=5, threads=2).regret
    assert np.array_equal(first, second), f"{cls.__name__}: the same seed gave another run"


def check_save_and_restore(cls: type[Policy], make: Make) -> None:
    """A run that is saved and restored in the middle equals the uninterrupted one."""
    learner, model = learner_for(cls, make)
    rng = streams(7, 0)
    play_with(learner, model, 60, rng.policy, rng.users)
    file = io.BytesIO()
    np.savez(file, **learner.arrays())  # type: ignore[arg-type]
    generators = [g.bit_generator.state for g in (rng.policy, rng.users)]
    uninterrupted = play_with(learner, model, 60, rng.policy, rng.users)

    file.seek(0)
    other, _ = learner_for(cls, make)
    with np.load(file, allow_pickle=False) as saved:
        other.restore({name: saved[name] for name in saved.files})
    rng.policy.bit_generator.state, rng.users.bit_generator.state = generators
    restored = play_with(other, model, 60, rng.policy, rng.users)
    for one, two in zip(uninterrupted, restored, strict=True):
        same = all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        assert same, f"{cls.__name__}: after restoring, {two} instead of {one}"


def check_replay(cls: type[Policy], make: Make) -> None:
    """Folding the log of a run into a new state gives the statistics of the run."""
    learner, model = learner_for(cls, make)
    log = play(learner, model, 100, seed=8)
    other, _ = learner_for(cls, make)
    for ranking, memo, clicks in log:
        other.update(ranking, memo, clicks)
    assert_same(learner.statistics(), other.statistics(), f"{cls.__name__}: replay changed")


def check_lost_cache(cls: type[Policy], make: Make) -> None:
    """Statistics suffice to continue: rankings are the same as after folding the log again."""
    learner, model = learner_for(cls, make)
    log = play(learner, model, 80, seed=9)
    fresh = first_state(learner.policy, learner.n_items, learner.n_positions)
    learner.state = fresh._replace(**learner.statistics())
    other, _ = learner_for(cls, make)
    for ranking, memo, clicks in log:
        other.update(ranking, memo, clicks)
    for seed in range(20):
        one, two = (each.rank(np.random.default_rng(seed))[0] for each in (learner, other))
        assert np.array_equal(one, two), f"{cls.__name__}: without its cache {one}, not {two}"


def check_delayed_feedback(
    cls: type[Policy], make: Make, learns_within: int = LEARNS_WITHIN
) -> None:
    """With late or batched feedback everything stays finite, and the policy still learns."""
    for delay, batch in ((1, 1), (10, 1), (0, 50), (100, 7)):
        learner, model = learner_for(cls, make)
        flying = []
        rng = streams(11, 0)
        for t in range(1, 400):
            ranking, memo = learner.rank(rng.policy)
            flying.append((ranking, memo, model.sample(ranking, rng.users)))
            if t % batch == 0:
                while len(flying) > delay:
                    learner.update(*flying.pop(0))
        _assert_finite(learner)
        _beats_uniform(cls, make, learns_within, delay, batch)


def check_bad_feedback(cls: type[Policy], make: Make) -> None:
    """Impossible feedback is refused, and changes nothing."""
    learner, model = learner_for(cls, make)
    play(learner, model, 20, seed=15)
    ranking, memo = learner.rank(np.random.default_rng(0))
    before = learner.arrays()
    good = np.zeros(model.n_positions, dtype=np.int64)
    bad: list[tuple[Any, Any, Any]] = [
        ([99, *ranking[1:]], memo, good),
        (ranking, memo, [2, *good[1:]]),
        (ranking, memo, good[1:]),
        (ranking, memo, [0.5, *good[1:]]),
    ]
    if model.n_positions > 1:
        bad.append(([0, *np.arange(model.n_positions - 1)], memo, good))  # item 0 twice
    if memo.size:
        bad += [
            (ranking, memo - 10**6, good),
            (ranking, memo + 10**6, good),
            (ranking, [0.5], good),
        ]
    for arguments in bad:
        assert _refused(learner, arguments), f"{cls.__name__}: update accepts {arguments}"
        assert_same(before, learner.arrays(), f"{cls.__name__}: refused feedback changed")


def check_extreme_clicks(cls: type[Policy], make: Make) -> None:
    """Streams without any click, and of clicks only, cause no failure."""
    for click in (0, 1):
        for n_items, n_positions in ((1, 1), (5, 3), (3, 3)):
            model = matched_model(cls, n_items, n_positions)
            learner = Learner(make(model, HORIZON), n_items, model.n_positions)
            clicks = np.full(model.n_positions, click, dtype=np.int64)
            rng = np.random.default_rng(12)
            for _ in range(200):
                ranking, memo = learner.rank(rng)
                learner.update(ranking, memo, clicks)  # raises on an invalid ranking
            _assert_finite(learner)


def check_relabelling(cls: type[Policy], make: Make) -> None:
    """Relabelling the items relabels the result: views by item and position over many runs.

    They are compared by a normal test per item and position; the probability of a false alarm over
    all cells is below 1e-6.
    """
    n_items, runs, horizon = 5, 150, 40
    model = matched_model(cls, n_items, 2)
    n_positions = model.n_positions
    order = np.array([3, 0, 4, 1, 2])
    shown = []
    for labels in (np.arange(n_items), order):
        policy = relabelled(make(model, horizon), labels)
        users = model.relabelled(labels)
        counts = np.zeros((runs, n_items, n_positions))
        for run in range(runs):
            rng = streams(13, run if labels is order else run + runs)
            learner = Learner(policy, n_items, n_positions)
            for ranking in rankings_of_run(learner, users, horizon, rng.policy, rng.users):
                counts[run, labels[ranking], np.arange(n_positions)] += 1
        shown.append(counts)
    rule = f"{cls.__name__}: depends on the labels of the items (ties by index? see top_k)"
    assert_same_views(shown[0], shown[1], 5.8, rule)  # 2·(1 - Φ(5.8)) · 10 cells < 1e-6


def check_learns(cls: type[Policy], make: Make, learns_within: int = LEARNS_WITHIN) -> None:
    """The policy beats uniform rankings on an easy instance that fits its assumptions."""
    _beats_uniform(cls, make, learns_within)


def check_parameters(cls: type[Policy], make: Make) -> None:
    """Parameters out of bounds raise an error that names the policy and the parameter."""
    policy = make(matched_model(cls, 5, 3), HORIZON)
    for field in settings_of(type(policy)):
        value = getattr(policy, field.name)
        if isinstance(value, bool):
            continue
        if isinstance(value, (int, float)):
            bad: list[Any] = [math.nan, -math.inf, "many", None]
        elif isinstance(value, tuple):
            bad = [[], [math.nan], ["x"], None, [-1.0, 0.5]]
            if "Matrix" not in str(field.type):
                bad.append([[0.5]])
        else:
            continue
        if field.default is None:  # left open
            bad.remove(None)
        for wrong in bad:
            message = _complaint(policy, field.name, wrong)
            begins = f"{cls.__name__}: {field.name}"
            assert message, f"{begins} accepts {wrong!r}"
            assert message.startswith(begins), f"{message} should begin with {begins!r}"
            assert ", got " in message, f"{message} should say what it got"


def check_docstring(cls: type[Policy], make: Make) -> None:
    """The docstring has the sections that all policies have."""
    text = inspect.cleandoc(cls.__doc__ or "")
    for section in ("Assumes", "Source", "Differences", "Complexity", "Guarantee"):
        assert f"**{section}**:" in text, f"{cls.__name__}: the docstring has no **{section}**"
    assert ">>> " in text, f"{cls.__name__}: the docstring has no example"
    own = [field.name for field in settings_of(cls)]
    assert not own or "Parameters\n" in text, f"{cls.__name__}: the docstring has no Parameters"
    for name in own:
        assert re.search(rf"^{name}\b", text, re.MULTILINE), f"{cls.__name__}: {name} undocumented"


def check_state_fields(cls: type[Policy], make: Make) -> None:
    """Every field of the state is a statistic; state and cache are of float64 and int64."""
    learner, _ = learner_for(cls, make)
    kind = type(learner.state)
    marked = set(statistic_fields(kind))
    for name in kind._fields:
        assert name in marked, (
            f"{cls.__name__}: {kind.__name__}.{name} must be marked IntStatistic or FloatStatistic"
        )
    for name, array in learner.state._asdict().items():
        good = isinstance(array, np.ndarray) and array.dtype in (np.float64, np.int64)
        assert good, f"{cls.__name__}: {name} is not an array of float64 or int64"


POLICY_CHECKS: tuple[Callable[[type[Policy], Make], None], ...] = (
    check_registered_name,
    check_docstring,
    check_state_fields,
    check_parameters,
    check_plain_python,
    check_same_as_reference,
    check_dropped_cache,
    check_valid_rankings,
    check_rank_keeps_statistics,
    check_inputs_untouched,
    check_same_seed,
    check_save_and_restore,
    check_replay,
    check_lost_cache,
    check_restart,
    check_bad_feedback,
    check_extreme_clicks,
    check_more_items,
    check_fewer_items,
    check_candidates,
    check_propensities,
    check_relabelling,
    check_relabelling_positions,
)
#: Checks that take a number of rounds to learn in.
LEARNING_CHECKS: tuple[Callable[[type[Policy], Make, int], None], ...] = (
    check_delayed_feedback,
    check_learns,
)


def check_policy(
    cls: type[Policy], make: Make | None = None, learns_within: int = LEARNS_WITHIN
) -> None:
    """Run all checks on a registered policy.

    ``make`` builds the policy for a click model and a horizon. By default the parameters that the
    policy must know are taken from these, and everything else has its default. ``learns_within`` is
    the number of rounds in which the policy must beat uniform rankings.
    """
    for check in POLICY_CHECKS:
        check(cls, make or by_name(cls))
    for learning_check in LEARNING_CHECKS:
        learning_check(cls, make or by_name(cls), learns_within)


def _refused(learner: Learner, arguments: tuple[Any, Any, Any]) -> bool:
    try:
        learner.update(*arguments)
    except InvalidValue:
        return True
    return False


def _complaint(policy: Policy, field: str, wrong: Any) -> str:
    """Return the message of the error that a parameter raises; empty if it raises none."""
    try:
        dataclasses.replace(policy, **{field: wrong})
    except InvalidValue as error:
        return str(error)
    return ""


def _beats_uniform(
    cls: type[Policy], make: Make, horizon: int, delay: int = 0, batch: int = 1
) -> None:
    """Compare paired runs; a policy that learns nothing passes with a probability below 1e-6.

    The instance is so easy that a policy that learns is dozens of standard errors better.
    """
    model = matched_model(cls, 6, 3)
    policy = make(model, horizon)
    ours = simulate(policy, model, horizon, RUNS, seed=14, delay=delay, batch=batch)
    uniform = next(name for name, other in POLICIES.items() if other.is_uniform)
    theirs = simulate(make_policy(uniform), model, horizon, RUNS, seed=14)
    gain = theirs.regret[:, -1] - ours.regret[:, -1]
    errors = float(gain.mean() / (gain.std(ddof=1) / math.sqrt(RUNS) + 1e-300))
    if cls.beats_uniform:
        assert errors > EVIDENCE, (
            f"{cls.__name__}: does not beat uniform rankings, {gain.mean()=}, {errors=}"
        )
    else:  # a declared deviation must be real
        assert errors < EVIDENCE, (
            f"{cls.__name__}: says it does not beat uniform rankings, but does, {errors=}"
        )


def _assert_finite(learner: Learner) -> None:
    """Assert that there is no NaN, and no infinite statistic that was finite at the start."""
    owner = type(learner.policy).__name__
    for name, array in learner.state._asdict().items():
        assert not np.isnan(array).any(), f"{owner}: NaN in {name}"
    start = first_state(learner.policy, learner.n_items, learner.n_positions)
    for name, array in learner.statistics().items():
        good = np.isfinite(array) | np.isinf(getattr(start, name))
        assert good.all(), f"{owner}: infinity in {name}"
