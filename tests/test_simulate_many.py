"""Many queries at once: the same numbers however they are cut, kept, interrupted and completed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._rng import streams
from clickrank.errors import InvalidValue
from clickrank.simulate import many

rng = np.random.default_rng(4)
# Of different sizes, and of two kinds.
MODELS: dict[str | int, cr.clickmodels.ClickModel] = {
    f"query {n}": cr.clickmodels.Cascade(rng.uniform(0, 0.5, n), min(n, 4)) for n in range(2, 9)
}
MODELS[17] = cr.clickmodels.PBM(rng.uniform(0, 0.5, 6), [0.9, 0.6, 0.3])
HORIZON = 120


def run(**options: Any) -> cr.ManyResults:
    given = {
        "policy_factory": "rba-kl-ucb", "models": MODELS, "horizon": HORIZON, "runs": 3, "seed": 5,
        **options,
    }  # fmt: skip
    return cr.simulate_many(**given)


@pytest.fixture(scope="module")
def whole() -> cr.ManyResults:
    return run()


def same(a: cr.ManyResults, b: cr.ManyResults) -> bool:
    return list(a) == list(b) and np.array_equal(a.result().regret, b.result().regret)


def test_the_results_are_those_of_the_loop_written_out(whole: cr.ManyResults) -> None:
    """Each run by hand, with the streams of (seed, query, run)."""
    assert list(whole) == list(MODELS)
    for number, (key, model) in enumerate(MODELS.items()):
        result = whole[key]
        assert result.regret.shape == (3, result.checkpoints.size)
        assert result.run_ids.tolist() == [0, 1, 2]
        for r in range(3):
            rng = streams(5, number, r)
            users = model.relabelled(rng.items.permutation(model.n_items))
            learner = cr.Learner(cr.policy("rba-kl-ucb"), model.n_items, model.n_positions)
            regret = 0.0
            for _ in range(HORIZON):
                ranking, memo = learner.rank(rng.policy)
                learner.update(ranking, memo, users.sample(ranking, rng.users))
                regret += model.best_value() - users.value(ranking)
            assert result.regret[r, -1] == pytest.approx(regret, abs=1e-9), (key, r)


def test_cutting_the_work_changes_nothing(
    whole: cr.ManyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert same(run(threads=1), whole)
    assert same(run(threads=3), whole)
    monkeypatch.setattr(many, "SLICE_SECONDS", 1e-9)  # a run a slice
    assert same(run(threads=2), whole)
    assert not same(run(seed=6), whole)


def test_a_query_does_not_depend_on_those_after_it(whole: cr.ManyResults) -> None:
    first = dict(list(MODELS.items())[:3])
    few = run(models=first, runs=2)
    for key in first:
        assert np.array_equal(few[key].regret, whole[key].regret[:2])
    # Queries alike in all but their number have other users.
    twice = run(models=[MODELS["query 5"]] * 2)
    assert list(twice) == [0, 1]
    assert not np.array_equal(twice[0].regret, twice[1].regret)


def test_policies_meet_the_same_users() -> None:
    """Two specs that act alike get the same clicks in each query, though one is told more."""
    epsilon = [run(policy_factory=cr.policies.PBMUCB([1.0] * 3, e), models=pages()) for e in (0, 9)]
    again = run(policy_factory=lambda key, model: cr.policies.PBMUCB([1.0] * 3), models=pages())
    assert same(epsilon[0], again)
    assert not same(*epsilon)


def pages() -> dict[str, cr.clickmodels.PBM]:
    return {
        name: cr.clickmodels.PBM(np.linspace(0.1, 0.6, n), [1.0] * 3)
        for name, n in (("a", 4), ("b", 6))
    }


def test_ways_to_name_policies(whole: cr.ManyResults) -> None:
    assert same(run(policy_factory=cr.policy("rba-kl-ucb")), whole)
    assert same(run(policy_factory=dict.fromkeys(MODELS, "rba-kl-ucb")), whole)
    assert same(run(policy_factory=lambda key, model: "rba-kl-ucb"), whole)
    mixed = run(policy_factory=lambda key, model: "uniform" if key == 17 else "rba-kl-ucb")
    assert np.array_equal(mixed["query 4"].regret, whole["query 4"].regret)
    assert not np.array_equal(mixed[17].regret, whole[17].regret)
    assert mixed.label == "2 policies"


def test_options_reach_the_loop() -> None:
    late = run(delay=3, batch=4, checkpoints=[7, 50], counted_positions=1)
    assert late.checkpoints.tolist() == [7, 50, HORIZON]
    assert not np.array_equal(late[17].regret[:, -1], run(checkpoints=[7, 50])[17].regret[:, -1])
    job = cr.simulate("rba-kl-ucb", MODELS[17], HORIZON, delay=3, batch=4, counted_positions=1)
    assert late[17].regret[:, -1].mean() == pytest.approx(job.regret[0, -1], rel=0.5)


def test_means_and_intervals(whole: cr.ManyResults) -> None:
    by_hand = np.array([whole[key].regret.mean(axis=0) for key in MODELS])
    mean, low, high = whole.mean()
    assert mean == pytest.approx(by_hand.mean(axis=0))
    # Student's t for 7 degrees of freedom, from a table.
    half = 2.3646 * by_hand[:, -1].std(ddof=1) / np.sqrt(8)
    assert high[-1] - mean[-1] == pytest.approx(half, rel=1e-4)
    assert mean[-1] - low[-1] == pytest.approx(half, rel=1e-4)
    assert list(whole.regret_by_query.values()) == pytest.approx(by_hand[:, -1].tolist())
    row = whole.summary()[0]
    assert (row.policy, row.runs, row.mean) == ("rba-kl-ucb", 24, pytest.approx(mean[-1]))
    assert row.median == pytest.approx(np.median(by_hand[:, -1]))


def test_one_pooled_result(whole: cr.ManyResults) -> None:
    pooled = whole.result()
    assert pooled.run_ids.tolist() == list(range(24))
    assert np.array_equal(pooled.regret[3:6], whole["query 3"].regret)
    assert (pooled.wanted, pooled.interrupted) == (24, False)
    assert pooled.seconds == pytest.approx(sum(r.seconds for r in whole.values()))
    averaged = whole.result(average_runs=True)
    assert averaged.run_ids.tolist() == list(range(8))
    assert np.array_equal(averaged.interval().high, whole.mean().high)
    assert len(cr.Comparison({"a": pooled, "b": averaged}).summary()) == 2


def test_save_and_load(whole: cr.ManyResults, tmp_path: Path) -> None:
    whole.save(tmp_path / "many.npz")
    again = cr.ManyResults.load(tmp_path / "many.npz")
    assert same(again, whole)
    assert list(again) == list(MODELS)  # a number stays a number
    assert again.summary() == whole.summary()
    assert repr(again) == repr(whole) == "ManyResults(rba-kl-ucb, 8 queries, 24 runs)"
    assert again[17].model == "PBM(n_items=6, n_positions=3)"
    cr.Comparison({"a": whole.result()}).save(tmp_path / "other.npz")
    with pytest.raises(InvalidValue, match="must be a file that ManyResults.save wrote"):
        cr.ManyResults.load(tmp_path / "other.npz")


# Interrupted, and completed.


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.npz"))


def test_a_finished_simulation_is_not_played_again(
    whole: cr.ManyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert same(run(folder=tmp_path), whole)
    assert [path.name for path in files(tmp_path)] == ["runs.npz"]
    asked = count_slices(monkeypatch)
    assert same(run(folder=tmp_path), whole)
    assert asked == []
    fewer = run(folder=tmp_path, runs=2)
    assert (asked, fewer.runs, fewer.interrupted) == ([], 16, False)
    more = run(folder=tmp_path, runs=4)
    assert sum(asked) == 8  # one new run for each query
    assert same(more, run(runs=4))
    for other in (
        {"seed": 6},
        {"delay": 1},
        {"policy_factory": "uniform"},
        {"counted_positions": 2},
    ):
        asked.clear()
        run(folder=tmp_path, **other)
        assert sum(asked) == 24, other
    assert len(files(tmp_path)) == 5


def count_slices(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []
    play = many.play_slice

    def counted(plan: Any, part: Any, stop: Any) -> Any:
        asked.append(part.runs)
        return play(plan, part, stop)

    monkeypatch.setattr(many, "play_slice", counted)
    return asked


@pytest.mark.parametrize("way", ["interrupt", "error"])
def test_what_is_finished_is_kept(
    way: str, whole: cr.ManyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The eighth run is stopped by Ctrl-C, or fails; the same call goes on from there."""
    monkeypatch.setattr(many, "SLICE_SECONDS", 1e-9)
    cause = KeyboardInterrupt() if way == "interrupt" else OSError("disk full")
    fail_at(monkeypatch, 8, cause)
    if way == "interrupt":
        part = run(folder=tmp_path, threads=1)
        assert part.interrupted
        assert part.result().interrupted
        assert 0 < len(part) < 8
        for key, result in part.items():
            assert np.array_equal(result.regret, whole[key].regret[: result.runs])
            assert np.isfinite(part.regret_by_query[key])
    else:
        with pytest.raises(OSError, match="disk full"):
            run(folder=tmp_path, threads=1)
    monkeypatch.undo()
    assert len(files(tmp_path)) >= 7
    asked = count_slices(monkeypatch)
    assert same(run(folder=tmp_path), whole)
    assert 0 < sum(asked) <= 17
    assert [path.name for path in files(tmp_path)] == ["runs.npz"]


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException) -> None:
    write = many.SavedRows.add
    seen = []

    def add(self: Any, rows: Any) -> None:
        seen.append(rows)
        if len(seen) == number:
            raise error
        write(self, rows)

    monkeypatch.setattr(many.SavedRows, "add", add)
