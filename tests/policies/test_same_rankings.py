"""Rankings, clicks and regret are those that were stored: same seed, same numbers, bit for bit.

`tests/data/same_rankings.json` holds digests of what every policy showed and lost when it was
recorded. A change that must not change any ranking must leave the file alone. A change that is
meant to change rankings records them again, in a commit that says why:

    python -m tests.policies.test_same_rankings --write [POLICY ...]
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import clickrank as cr
from clickrank._core.arrays import Floats
from clickrank._core.rng import streams
from clickrank.clickmodels import CLICK_MODELS, PBM, ClickModel, LinearAttraction
from clickrank.errors import DoesNotApply
from clickrank.learning import Learner
from clickrank.policies import POLICIES, Policy, policy
from clickrank.policies.policy_spec import settings_of
from clickrank.priors import Beta
from tests.paths import DATA

RECORD = DATA / "same_rankings.json"
ROUNDS = 300
LONG = 6000  # rounds in which policies that drop items or go through phases do so
#: A record holds a digest of everything up to the end of each of this many blocks of rounds.
BLOCKS = 6

# Click models: their parameters go by name, so that a new click model is found and played on.

#: Attractions by the number of items, neither sorted nor all different.
ATTRACTION = {
    6: [0.35, 0.1, 0.6, 0.25, 0.45, 0.25],
    12: [0.2, 0.05, 0.5, 0.3, 0.1, 0.45, 0.3, 0.15, 0.7, 0.25, 0.02, 0.4],
}
#: Position effects. People look most at the second of the positions "middle".
EFFECTS = {
    "decreasing": [0.9, 0.6, 0.4, 0.3],
    "middle": [0.5, 0.95, 0.3, 0.4],
    "equal": [0.7, 0.7, 0.7, 0.7],
}
#: Which parameters of click models differ between the kinds of position effects.
BY_POSITION = {"examination", "examination_after", "position_bias", "probabilities", "satisfaction"}
BY_KIND = {
    "decreasing": None,  # played on by all
    "middle": BY_POSITION,
    "equal": {"satisfaction", "item_satisfaction"},  # which some policies assume to be equal
}
MISMATCHED = ("pbm", "cascade")  # played on also by policies that assume other clicks

# Policies.

#: Settings, by the number of items, of policies that need more than a click model has.
TOLD: dict[str, Callable[[int], dict[str, Any]]] = {
    "ensemble": lambda n_items: {"scores": ATTRACTION.get(n_items, [0.3, 0.5, 0.2, 0.1, 0.4])},
}


def joined(n_items: int, rule: Callable[[int, int], bool]) -> list[list[int]]:
    """Return the neighbours of each item in the graph of a rule."""
    items = range(n_items)
    return [[two for two in items if two != one and rule(one, two)] for one in items]


def features_of(n_items: int) -> Floats:
    """Return features, three per item, of which the last two items have the same."""
    vectors = np.array([[(7 * i + 4 * j) % 11 - 5.0 for j in range(3)] for i in range(n_items)])
    vectors[-1] = vectors[-2]
    unit: Floats = vectors / np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    return unit


_COUNTING: list[dict[str, Any]] = [
    {"click_model": "dctr", "examination": None},
    {"click_model": "cascade", "examination": None, "prior": Beta(0.3, 2.0)},
    {"click_model": "dcm", "examination": None, "prior": Beta(0.2, 0.6)},
    {"click_model": "dcm", "examination": None, "observe": "first-click"},
]
#: Parameters moved from their defaults. The record knows them by their place: add only at the end.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "bayes-ucb": [{"prior": Beta(0.4, 0.7)}, {"failure": 0.1}, {"failure": 0.004}, *_COUNTING],
    "bubblerank": [{"power": 0.1}, {"power": 0.05, "initial": (2, 1, 0)}],
    "cascade-lin-ts": [{"sigma": 0.7, "features": features_of(5)}],
    "cascade-lin-ucb": [
        {"width": 0.7, "sigma": 0.5, "features": features_of(5)},
        {"bonus": "square", "features": features_of(5)},
    ],
    "dcm-kl-ucb": [{"observe": "first-click"}],
    "epoch-ucb-star": [
        {"ceiling": True, "estimator": "em"},
        {"estimator": "em", "least": 0.05, "most": 2.0, "whole_root": True},
    ],
    "epoch-ucb-unknown": [
        {"ceiling": True, "estimator": "composite"},
        {"least": 0.05, "most": 2.0},
    ],
    "epoch-ucb-w": [{"whole_root": True}],
    "epsilon-greedy": [{"exploration": c} for c in (0.0, 1.0, 10.0, 100.0)],
    "greedy": [{"prior": Beta([1.0, 2.0, 3.0, 1.5, 2.5], [3.0, 3.0, 4.0, 2.0, 2.0])}],
    "osub": [
        {"loglog": 0.5},
        {"neighbours": joined(5, lambda one, two: one == 0)},  # a star; each edge is named once
        {"neighbours": joined(5, lambda one, two: True), "loglog": 0.0},
    ],
    "pb-lb": [{"step_size": 0.1, "precision": 100.0, "steps": 3}],
    "pb-mhb": [
        {"width": 0.5, "steps": 3},
        {"start": "random", "steps": 2, "width": 10.0},
        {"proposal": "logit-gaussian", "width": 5.0},
        {"proposal": "pseudo-view"},
        {"proposal": "max-pos", "start": "random"},
        {"proposal": "max-pos"},
        {"prior": Beta(4.0, 9.0)},
        {"prior": Beta(2.0, 1.0), "start": "random"},
        {"unit_position": "first"},
        {"unit_position": "first", "proposal": "logit-gaussian-printed", "width": 1.0},
        {"unit_position": "first", "proposal": "max-pos", "prior": Beta(2.0, 3.0)},
        {"unit_position": "first", "proposal": "pseudo-view", "prior": Beta(2.0, 3.0)},
    ],
    "pbm-kl-ucb": [{"epsilon": 0.5}, {"epsilon": 0.05}],
    "pbm-pie": [{"rounds": 10_000}, {"rounds": 100, "epsilon": 0.5}, {"epsilon": 0.05}],
    "pbm-ucb": [{"epsilon": 0.5}, {"epsilon": 0.05}],
    "pmed": [{"hinge": True, "beta": 0.02, "gamma": 0.5}, {"alpha": 3.0, "renewal": 0.5}],
    "rba-kl-ucb": [{"loglog": 3.0}, {"loglog": 0.5}],
    "recurrank": [
        {"failure": 1.0},
        {"failure": 1.0, "elimination": "printed"},
        {"failure": 1.0, "variant": "program"},
    ],
    "thompson": [{"prior": Beta(0.4, 1.5)}, {"prior": Beta(0.4, 0.7)}, *_COUNTING],
    "toprank": [{"failure": 1.0}, {"doubling": True, "guess": 20}],
    "unirank": [{"slots": 1024}],
}
SETTINGS_MODEL = PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])


class Play(NamedTuple):
    """How feedback comes back, and when the process ends and another one goes on."""

    delay: int = 0
    batch: int = 1
    shuffled: bool = False
    restarts: tuple[int, ...] = ()


PLAYS = {
    "plain": Play(),
    "delay": Play(delay=9),
    "batch": Play(batch=7),
    "delay and batch": Play(delay=9, batch=7),
    "shuffled": Play(delay=9, batch=3, shuffled=True),
    "restarts": Play(restarts=(70, 71, 190)),
    "shuffled, restarts": Play(delay=11, batch=4, shuffled=True, restarts=(110, 210)),
}
SIMULATED = ("plain", "delay", "batch", "delay and batch")
WITH_SETTINGS = ("plain", "shuffled, restarts")


class Case(NamedTuple):
    """One entry of the record: its name, how to compute it, and whether `proof` alone plays it."""

    name: str
    digests: Callable[[], str]
    rounds: int = ROUNDS
    proof: bool = False


def restarted(learner: Learner) -> Learner:
    """Return what a new process would go on with: the statistics, and nothing else."""
    other = Learner(learner.policy, learner.n_items, learner.n_positions)
    other.state = other.state._replace(**learner.statistics())
    return other


def play(spec: Policy, model: ClickModel, how: Play) -> str:
    """Return digests of the rankings and the clicks on them, and one of the memos, if any."""
    learner = Learner(spec, model.n_items, model.n_positions)
    rng = streams(3, 0)
    waiting: list[tuple[NDArray[Any], ...]] = []
    log, memos = [], []
    for t in range(ROUNDS):
        if t in how.restarts:
            learner = restarted(learner)
        ranking, memo = learner.rank(rng.policy)
        clicks = model.sample(ranking, rng.users)
        log.append(np.append(ranking, clicks).astype("<i8").tobytes())
        memos.append(memo.astype("<i8").tobytes())
        waiting.append((ranking, memo, clicks))
        if (t + 1) % how.batch == 0:
            while len(waiting) > how.delay:
                place = int(rng.items.integers(len(waiting))) if how.shuffled else 0
                learner.update(*waiting.pop(place))
    return digests(log) + (f" memos {digest(memos)[:6]}" if learner.memo_size else "")


def simulated_regret(spec: Policy, model: ClickModel, how: Play, rounds: int, runs: int) -> str:
    """Return digests of the regret after each round of some runs."""
    found = cr.simulate(
        spec,
        model,
        horizon=rounds,
        runs=runs,
        seed=5,
        checkpoints=np.arange(1, rounds + 1),
        delay=how.delay,
        batch=how.batch,
        allow_mismatch=True,
        progress=False,
    )
    assert found.regret.shape == (runs, rounds)
    return digests([column.astype("<f8").tobytes() for column in found.regret.T])


def digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def digests(rounds: list[bytes]) -> str:
    """Return digests of everything up to the end of each block, of which the last is longer."""
    ends = [len(rounds) * number // BLOCKS for number in range(1, BLOCKS + 1)]
    found = [digest(rounds[:end]) for end in ends]
    return " ".join([*(each[:4] for each in found[:-1]), found[-1][:12]])


def first_difference(one: str, two: str, rounds: int) -> str:
    """Say in which block of rounds two records differ first."""
    blocks = zip(one.split()[:BLOCKS], two.split()[:BLOCKS], strict=True)
    for block, (mine, theirs) in enumerate(blocks):
        if mine != theirs:
            begin, end = (rounds * number // BLOCKS for number in (block, block + 1))
            return f"differs first in rounds {begin + 1} to {end}"
    return "differs in its memos alone"


def click_model(cls: type[Policy], name: str, kind: str, n_items: int) -> ClickModel:
    """Return a click model with parameters of its kind, for a policy that may need features."""
    n_positions = {6: 3, 12: 4}[n_items]
    if cls.assumes.positions == "one":
        n_positions = 1
    attraction = np.array(ATTRACTION[n_items])
    effects = np.array(EFFECTS[kind][:n_positions])
    linear = LinearAttraction(np.eye(n_items), attraction)
    satisfied = np.full(n_items, 0.6) if kind == "equal" else attraction[::-1]
    values: dict[str, Any] = {
        "attraction": linear if cls.assumes.features else attraction,
        "continuation": 0.8,
        "examination": effects,
        "examination_after": np.tril(effects[:, None] ** (1.0 + np.arange(n_positions) / 4.0)),
        "item_satisfaction": satisfied,
        "n_positions": n_positions,
        "position_bias": effects,
        "probabilities": np.outer(attraction, effects),
        "satisfaction": effects,
    }
    build: Any = CLICK_MODELS[name]
    made: ClickModel = build(**{key: values[key] for key in inspect.signature(build).parameters})
    return made


def policy_for(name: str, model: ClickModel, horizon: int = ROUNDS, **settings: Any) -> Policy:
    """Return a policy with the settings that it needs, made up where the click model has none."""
    cls = POLICIES[name]
    effects = EFFECTS["decreasing"][: model.n_positions]
    made_up = {
        "examination": effects,
        "features": np.eye(model.n_items),
        "position_bias": effects,
        "satisfaction": effects,
    }
    told: dict[str, Any] = {}
    for key in (*cls.assumes.known, *(["features"] if cls.assumes.features else [])):
        field = {field.name: field for field in settings_of(cls)}[key]
        if not hasattr(model, key) and field.default is dataclasses.MISSING:
            told[key] = made_up[key]
    if name in TOLD:
        told |= TOLD[name](model.n_items)
    return policy(name, model=model, horizon=horizon, **{**told, **settings})


def models(name: str) -> Iterator[tuple[str, ClickModel, bool]]:
    """Return the click models to play on, and which are the first that the policy assumes.

    PBM and cascade are among them whatever the policy assumes.
    """
    cls = POLICIES[name]
    first = (*cls.assumes.click_models, "pbm")[0]
    for model_name in CLICK_MODELS:
        parameters = set(inspect.signature(CLICK_MODELS[model_name]).parameters)
        for kind, differ in BY_KIND.items():
            if differ is not None and not differ & parameters:
                continue
            model = click_model(cls, model_name, kind, n_items=6)
            applies = applies_to(name, model)
            forced = model_name in MISMATCHED and kind == "decreasing"
            if applies or forced:
                yield f"{model_name} {kind}", model, model_name == first
    yield f"{first} 12 items", click_model(cls, first, "decreasing", n_items=12), True


def applies_to(name: str, model: ClickModel) -> bool:
    """Return whether a policy assumes such clicks."""
    try:
        return policy_for(name, model).why_not(model) is None
    except DoesNotApply:  # it cannot even be made for them
        return False


def cases(name: str) -> Iterator[Case]:
    """Return what is recorded of a policy."""
    for label, model, first in models(name):
        spec = policy_for(name, model)
        for how in PLAYS:
            yield Case(f"{label}: {how}", functools.partial(play, spec, model, PLAYS[how]))
        proof = not first and model.name not in MISMATCHED
        for how in SIMULATED:
            short = functools.partial(simulated_regret, spec, model, PLAYS[how], ROUNDS, 2)
            yield Case(f"{label}: regret, {how}", short, proof=proof)
        if first:
            spec = policy_for(name, model, LONG)
            long = functools.partial(simulated_regret, spec, model, Play(), LONG, 1)
            yield Case(f"{label}: regret, long", long, LONG)
    for number, settings in enumerate(SETTINGS.get(name, [])):
        model = SETTINGS_MODEL
        if POLICIES[name].assumes.positions == "one":
            model = model.first_positions(1)
        spec = policy_for(name, model, **settings)
        for how in WITH_SETTINGS:
            played = functools.partial(play, spec, model, PLAYS[how])
            yield Case(f"settings {number}: {how}", played)


@functools.cache
def record() -> dict[str, dict[str, str]]:
    """Return what was recorded, by policy and case."""
    found: dict[str, dict[str, str]] = json.loads(RECORD.read_text())
    return found


def compare(name: str, played: Iterable[Case]) -> None:
    """Raise if any of these cases is not as recorded."""
    again = f"python -m tests.policies.test_same_rankings --write {name}"
    if name not in record():
        pytest.fail(f"{name} has no record in {RECORD.name}; make one with: {again}")
    expected = record()[name]
    problems = []
    count = 0
    for case in played:
        count += 1
        if case.name not in expected:
            problems.append(f"{case.name}: has no record; make one with: {again}")
            continue
        found = case.digests()
        if found != expected[case.name]:
            where = first_difference(found, expected[case.name], case.rounds)
            problems.append(f"{case.name}: {where}")
    if problems:
        listed = "\n".join(f"  {problem}" for problem in problems)
        pytest.fail(f"{name}: {len(problems)} of {count} cases are not as recorded\n{listed}")


OURS = [name for name, cls in POLICIES.items() if cls.__module__.startswith("clickrank.")]


@pytest.mark.parametrize("name", OURS)
def test_same_rankings(name: str) -> None:
    compare(name, (case for case in cases(name) if not case.proof))


@pytest.mark.proof  # compiles each policy with each click model: more than a second for each pair
@pytest.mark.parametrize("name", OURS)
def test_same_regret_on_more_click_models(name: str) -> None:
    compare(name, (case for case in cases(name) if case.proof))


def test_nothing_else_is_recorded() -> None:
    assert set(record()) <= set(OURS)
    for name, recorded in record().items():
        assert set(recorded) <= {case.name for case in cases(name)}, name


@pytest.mark.parametrize("name", OURS)
def test_every_parameter_is_moved_from_its_default(name: str) -> None:
    """A change that makes a kernel ignore a parameter would not show at the default alone."""
    known = {*POLICIES[name].assumes.known, "features", "horizon"}
    known |= set(TOLD[name](6)) if name in TOLD else set()
    moved = SETTINGS.get(name, [])
    for field in settings_of(POLICIES[name]):
        if field.name not in known:
            values = [settings.get(field.name, field.default) for settings in moved]
            assert any(value != field.default for value in values), field.name


def write(names: list[str]) -> None:
    """Record these policies again, by default all, and leave the others as they are."""
    kept = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found = {name: kept[name] for name in OURS if name in kept}
    for name in names or OURS:
        found[name] = {case.name: case.digests() for case in cases(name)}
        print(f"{name}: {len(found[name])} cases")
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Record the rankings of policies again.")
    parser.add_argument("--write", nargs="*", metavar="POLICY", choices=OURS, required=True)
    write(parser.parse_args().write)
