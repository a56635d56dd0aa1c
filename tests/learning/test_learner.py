"""A learner saved and restored goes on as if nothing had happened, or refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank.errors import InvalidValue
from clickrank.learning.ranker_file import read
from clickrank.learning.saved_state import with_label
from tests.learning.test_files_from_before import unpacked


def learner(examination: tuple[float, ...] = (0.9, 0.5), seed: int | None = 1) -> cr.Learner:
    return cr.Learner(cr.policy("pbm-ts", examination=examination), 4, 2, seed)


def test_restart(tmp_path: Path) -> None:
    one, two = learner(), learner(seed=None)
    for _ in range(50):
        ranking, memo = one.rank()
        one.update(ranking, memo, [1, 0])
    np.savez(tmp_path / "learner.npz", **one.arrays())  # type: ignore[arg-type]
    with np.load(tmp_path / "learner.npz", allow_pickle=False) as saved:
        two.restore(saved)
    for _ in range(50):
        ranking, memo = one.rank()
        assert np.array_equal(two.rank()[0], ranking)  # draws included
        one.update(ranking, memo, [0, 1])
        two.update(ranking, memo, [0, 1])


def test_two_learners_without_a_seed_draw_differently() -> None:
    one, two = learner(seed=None), learner(seed=None)
    assert [one.rank()[0].tolist() for _ in range(40)] != [
        two.rank()[0].tolist() for _ in range(40)
    ]


def test_a_state_of_another_policy_is_refused() -> None:
    with pytest.raises(
        InvalidValue, match=r"must be of PBMTS\(examination=\(0.9, 0.5\)\), 4 items"
    ):
        learner().restore(learner(examination=(0.8, 0.5)).arrays())


def test_the_refusal_is_short_and_says_what_differs() -> None:
    flat = cr.priors.Beta([1.0] * 100, [9.0] * 100)
    other = cr.priors.Beta([1.0] * 70 + [2.5] + [1.0] * 29, [9.0] * 100)
    one, two = (cr.Learner(cr.policies.Greedy(p), 100, 2) for p in (flat, other))
    with pytest.raises(InvalidValue, match=r"1\.0, 1\.0.*, got …1\.0.* 2\.5, 1\.0") as caught:
        one.restore(two.arrays())
    assert len(str(caught.value)) < 320


@pytest.mark.parametrize("name", ["bayes-ucb", "toprank"])
def test_a_horizon_of_1e4_is_one_of_10000(name: str) -> None:
    told = {"click_model": "dctr"} if name == "bayes-ucb" else {"guess": 1e3}
    one, two = (cr.policy(name, horizon=h, **told) for h in (1e4, 10_000))  # type: ignore[arg-type]
    cr.Learner(one, 4, 2).restore(cr.Learner(two, 4, 2).arrays())


def test_a_damaged_state_is_refused_and_changes_nothing() -> None:
    one = learner()
    before = one.arrays()
    damaged = {**one.arrays(), "clicks": np.full(4, -5)}
    with pytest.raises(InvalidValue, match="must be unchanged"):
        one.restore(damaged)
    with pytest.raises(InvalidValue, match="must be what `arrays` returned"):
        one.restore({"clicks": np.zeros(4)})
    with pytest.raises(InvalidValue, match="must be what `arrays` returned"):
        one.restore("learner.npz")  # type: ignore[arg-type]
    for name, array in one.arrays().items():
        assert np.array_equal(array, before[name])


@pytest.mark.parametrize("label", ["", "no JSON", "[]", "{}", "generator"])
def test_a_damaged_label_is_refused(label: str) -> None:
    one = learner()
    arrays = one.arrays()
    if label == "generator":
        label = json.dumps({**json.loads(str(arrays["label"])), "generator": {"state": 1}})
    with pytest.raises(InvalidValue, match="must be what `arrays` returned"):
        one.restore({**arrays, "label": np.array(label)})


@pytest.mark.parametrize("name", ["batchrank", "bubblerank", "grab", "pmed", "toprank", "unirank"])
def test_arrays_of_an_earlier_version_are_restored_as_from_a_file(
    name: str, tmp_path: Path
) -> None:
    path = unpacked("before", f"{name}.ranker", tmp_path)
    ranker = cr.Ranker.load(path)
    arrays = read(path)[1]
    for number, context in enumerate(ranker.contexts):
        loaded = ranker._contexts[context].learner  # of the items that are not retired
        one = cr.Learner(loaded.policy, loaded.n_items, loaded.n_positions)
        prefix = f"{number}.learned."
        fields = {k.removeprefix(prefix): a for k, a in arrays.items() if k.startswith(prefix)}
        description = json.loads(str(one.arrays()["label"]))["learner"]
        one.restore(with_label(fields, description, np.random.default_rng(number)))
        expected, found = loaded.statistics(), one.statistics()
        assert set(found) == set(expected)
        for field, array in expected.items():
            assert np.array_equal(found[field], array), field
        assert one.rng.random() == np.random.default_rng(number).random()


BAD: list[tuple[Any, str]] = [
    (lambda: cr.Learner("pbm-ts", 4, 2), "Learner: policy must be a Policy"),  # type: ignore[arg-type]
    (lambda: learner(seed=-1), "Learner: seed must be a whole number of at least 0, got -1."),
    (lambda: cr.Learner(cr.policy("uniform"), 2, 3), "Uniform: n_positions must be between 1 and"),
    (lambda: learner().rank(3), "Learner: rng must be a numpy.random.Generator, got 3."),  # type: ignore[arg-type]
    (lambda: learner().update([0, 1], [5], [0, 0]), "PBMTS: memo must hold 0 whole numbers"),
    (lambda: learner().update([0, 0], [], [0, 0]), "PBMTS: ranking must hold distinct items"),
    (lambda: learner().update([0, 1], [], [0, 3]), "PBMTS: clicks must be 0 or 1"),
    (lambda: cr.policy(3), "policy: name must be a string, got 3."),  # type: ignore[arg-type]
    (lambda: cr.policy("uniform", x=1), "Uniform: unknown parameter 'x'; it has none."),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_another_state_must_fit() -> None:
    own = cr.Learner(cr.policy("toprank", horizon=100), n_items=4, n_positions=2)
    other = cr.Learner(cr.policy("toprank", horizon=100), n_items=5, n_positions=2)
    for wrong, rule in (
        (other.state, r"TopRank: the state's clicks must be int64 of shape \(4,\)"),
        (None, "TopRank: state must be a PackedState of clickrank.fast._shared.packed_pairs"),
    ):
        with pytest.raises(InvalidValue, match=rule):
            own.state = wrong
    own.state = cr.Learner(cr.policy("toprank", horizon=100), n_items=4, n_positions=2).state


@pytest.mark.parametrize("kind", ["PCG64", "PCG64DXSM", "MT19937", "SFC64", "Philox"])
def test_any_generator_is_restored(kind: str) -> None:
    """A learner goes on with the generator that it had, of whatever kind."""
    bits = getattr(np.random, kind)
    learner = cr.Learner(cr.policies.Uniform(), n_items=20, n_positions=5)
    learner.rng = np.random.Generator(bits(3))
    learner.rank()
    other = cr.Learner(cr.policies.Uniform(), n_items=20, n_positions=5)
    if kind != "PCG64":
        with pytest.raises(InvalidValue, match=f"rng must be a {kind}, .* got 'PCG64'"):
            other.restore(learner.arrays())
    other.rng = np.random.Generator(bits(4))
    other.restore(learner.arrays())
    assert [other.rank()[0].tolist() for _ in range(5)] == [
        learner.rank()[0].tolist() for _ in range(5)
    ]
