"""Many queries at once: the same numbers however they are cut, kept, interrupted and completed."""

import contextlib
import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest

import clickrank as cr
from benchmarks import many as benchmark
from clickrank._core.rng import streams
from clickrank.checks.playing import matched_model
from clickrank.errors import DoesNotApply, InvalidValue
from clickrank.simulation import PartialResults
from clickrank.simulation import simulate_queries as many
from clickrank.simulation.many_results import stacked
from clickrank.simulation.saved_slices import SavedRows
from clickrank.simulation.simulate_queries import LostSlice, QueryFailed
from clickrank.simulation.simulate_runs import Job, plan_of
from clickrank.simulation.slices import WaitingRuns, play_slice
from clickrank.simulation.worker_pools import Pool, active_pool
from tests.simulation.test_simulate_runs import PRESS_CTRL_C

rng = np.random.default_rng(4)
# Of different sizes.
MODELS: dict[str | int, cr.clickmodels.ClickModel] = {
    f"query {n}": cr.clickmodels.PBM(rng.uniform(0, 0.5, n), np.linspace(1, 0.3, min(n, 4)))
    for n in range(2, 9)
}
MODELS[17] = cr.clickmodels.PBM(rng.uniform(0, 0.5, 6), [0.9, 0.6, 0.3])
HORIZON = 120


def run(**options: Any) -> cr.ManyResults:
    given = {
        "policy_factory": "pbm-ucb", "models": MODELS, "horizon": HORIZON, "runs": 3, "seed": 5,
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
            learner = cr.Learner(
                cr.policy("pbm-ucb", model=model), model.n_items, model.n_positions
            )
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
    monkeypatch.setattr(many, "SLICE_SECONDS", 1e-9)  # one run per slice
    assert same(run(threads=2), whole)
    assert not same(run(seed=6), whole)


def test_a_run_a_slice_until_the_pace_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is guessed: a round may take a microsecond, or a millisecond."""
    monkeypatch.setattr(many, "SLICE_SECONDS", 1e9)  # as many runs as possible
    asked = count_slices(monkeypatch)
    run(threads=1, runs=200)
    assert asked[:2] == [1, 1]  # handed over before the first came back
    assert max(asked) > 1
    assert sum(asked) == 1600


def test_a_slice_ends_when_its_time_is_over(
    whole: cr.ManyResults, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later queries may be slower than those before them; the rest is played by another slice."""
    played: list[tuple[int, int]] = []

    def short(plan: Any, part: Any, caller: Any) -> Any:
        done = play_slice(plan, part._replace(seconds=0.0), caller)
        played.append((part.runs, done.rows.run.size))
        return done

    monkeypatch.setattr(many, "SLICE_SECONDS", 1e9)
    monkeypatch.setattr(many, "play_slice", short)
    assert same(run(threads=1), whole)
    assert [n for _, n in played] == [1] * 24
    assert max(n for n, _ in played) > 1


def test_progress_within_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks: list[int] = []

    @contextlib.contextmanager
    def bar(label: str, total: int, show: bool | None) -> Iterator[Callable[[int], None]]:
        assert (label, total) == ("mine", 2 * HORIZON)
        yield ticks.append

    monkeypatch.setattr(many, "progress_bar", bar)
    results = run(models=[MODELS[17]], runs=2, threads=1, label="mine")
    assert sum(ticks) == 2 * HORIZON
    assert len([n for n in ticks if n]) > 2  # more than one per run
    assert results.label == results.summary()[0].policy == "mine"


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
    """In each query, with the same labels of items: the first rounds are alike."""
    two = [run(policy_factory=cr.policies.PBMUCB([1.0] * 3, e), models=pages()) for e in (0, 9)]
    for key in pages():
        shy, bold = (results[key].regret[:, 0] for results in two)
        assert np.array_equal(shy, bold)  # ties, by the same random numbers
        assert not np.array_equal(two[0][key].regret, two[1][key].regret)


def pages() -> dict[str, cr.clickmodels.PBM]:
    return {
        name: cr.clickmodels.PBM(np.linspace(0.1, 0.6, n), [1.0] * 3)
        for name, n in (("a", 4), ("b", 6))
    }


def test_ways_to_name_policies(whole: cr.ManyResults) -> None:
    made = {key: cr.policy("pbm-ucb", model=model) for key, model in MODELS.items()}
    assert same(run(policy_factory=made), whole)
    assert same(run(policy_factory=lambda key, model: made[key]), whole)
    assert same(run(policy_factory=lambda key, model: "pbm-ucb"), whole)
    one = {k: m for k, m in MODELS.items() if m.n_positions == 4}
    cut = {k: cr.clickmodels.PBM(m.params.attraction, [1, 0.5]) for k, m in one.items()}
    alike = run(policy_factory=cr.policies.PBMUCB([1, 0.5]), models=cut)
    assert same(alike, run(models=cut))
    mixed = run(policy_factory=lambda key, model: "uniform" if key == 17 else "pbm-ucb")
    assert np.array_equal(mixed["query 4"].regret, whole["query 4"].regret)
    assert not np.array_equal(mixed[17].regret, whole[17].regret)
    assert mixed.label == "2 policies"


def test_options_reach_the_loop() -> None:
    late = run(delay=3, batch=4, checkpoints=[7, 50], counted_positions=1)
    assert late.checkpoints.tolist() == [7, 50, HORIZON]
    assert not np.array_equal(late[17].regret[:, -1], run(checkpoints=[7, 50])[17].regret[:, -1])
    assert not np.array_equal(
        late[17].regret, run(checkpoints=[7, 50], delay=3, batch=4)[17].regret
    )


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
    assert (row.policy, row.runs, row.mean) == ("pbm-ucb", 24, mean[-1])
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
    assert averaged.microseconds_per_round == pytest.approx(whole.microseconds_per_round)
    assert len(cr.Comparison({"a": pooled, "b": averaged}).summary()) == 2


def test_save_and_load(whole: cr.ManyResults, tmp_path: Path) -> None:
    whole.save(tmp_path / "many.npz")
    again = cr.ManyResults.load(tmp_path / "many.npz")
    assert same(again, whole)
    assert list(again) == list(MODELS)  # a number stays a number
    assert again.summary() == whole.summary()
    assert repr(again) == repr(whole) == "ManyResults(pbm-ucb, 8 queries, 24 runs)"
    assert again[17].model == "PBM(n_items=6, n_positions=3)"
    cr.Comparison({"a": whole.result()}).save(tmp_path / "other.npz")
    for wrong, name, right in (
        (cr.ManyResults, "other.npz", "Comparison"),
        (cr.Comparison, "many.npz", "ManyResults"),
    ):
        rule = (
            rf"must be a file that {wrong.__name__}\.save wrote "
            rf"\({right}\.load reads this one\), got 'a {right}'"
        )
        with pytest.raises(InvalidValue, match=rule):
            wrong.load(tmp_path / name)


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

    def counted(plan: Any, part: Any, caller: Any) -> Any:
        asked.append(part.runs)
        return play_slice(plan, part, caller)

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
        with pytest.warns(PartialResults) as seen:
            part = run(folder=tmp_path, threads=1)
        much = f"interrupted: {part.runs} of 24 runs, {len(part)} of 8 queries"
        assert [str(w.message) for w in seen] == [
            f"simulate_many was {much}; the same call completes them."
        ]
        assert seen[0].filename == __file__
        assert repr(part) == f"ManyResults(pbm-ucb, {much})"
        assert much in str(part.summary())
        assert part.interrupted
        assert part.result().interrupted
        both = cr.Comparison({"[a]": part.result(), "b": whole.result()}).summary()
        assert f"interrupted: [a] {part.runs} of 24 runs\n" in f"{both}\n"
        assert 0 < len(part) < 8
        for key, result in part.items():
            assert np.array_equal(result.regret, whole[key].regret[result.run_ids])
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
    write = SavedRows.add
    seen = []

    def add(self: Any, rows: Any) -> None:
        seen.append(rows)
        if len(seen) == number:
            raise error
        write(self, rows)

    monkeypatch.setattr(SavedRows, "add", add)


def test_a_file_that_cannot_be_read_counts_as_not_there(
    whole: cr.ManyResults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "SLICE_SECONDS", 1e-9)
    fail_at(monkeypatch, 12, KeyboardInterrupt())
    with pytest.warns(PartialResults):
        run(folder=tmp_path, threads=1)
    monkeypatch.undo()
    kept = files(tmp_path)
    kept[0].write_bytes(kept[0].read_bytes()[:-40])
    kept[1].write_bytes(b"")
    with np.load(kept[2]) as file:
        arrays = dict(file)
    np.savez(kept[2], **{**arrays, "run": arrays["run"][:0]})
    np.savez(kept[3], **{**arrays, "instance": arrays["instance"] + 100})
    np.savez(kept[4], **{k: a for k, a in arrays.items() if k != "seconds"})
    kept[5].unlink()
    (kept[0].parent / "slice-0.npz.1.part").write_bytes(b"cut off by kill -9")
    asked = count_slices(monkeypatch)
    with pytest.warns(UserWarning, match="cannot be read .* its runs are simulated again") as seen:
        again = run(folder=tmp_path)
    assert len(seen) == 5
    assert same(again, whole)
    assert sum(asked) == 24 - (len(kept) - 6)


KILLED = """
import os, signal, sys
import clickrank as cr
from clickrank.simulation import simulate_queries as many
from clickrank.simulation.saved_slices import SavedRows
from clickrank.simulation.slices import WaitingRuns, play_slice

many.SLICE_SECONDS = 1e-9
model = cr.clickmodels.PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
add = SavedRows.add
count = []

def stopped(self, rows):
    add(self, rows)
    count.append(rows)
    if len(count) == 5:
        os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "kill":
    SavedRows.add = stopped
results = cr.simulate_many("uniform", [model] * 6, 200, runs=2, seed=1, folder=sys.argv[1])
print(len(results), results.runs)
"""


def test_a_killed_process_is_completed_by_the_next(tmp_path: Path) -> None:
    killed, done = (
        subprocess.run(
            [sys.executable, "-c", KILLED, str(tmp_path), way],
            capture_output=True, text=True, timeout=300,
        )
        for way in ("kill", "complete")
    )  # fmt: skip
    assert killed.returncode == -9
    assert done.stdout == "6 12\n", done.stderr
    model = cr.clickmodels.PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
    again = cr.simulate_many("uniform", [model] * 6, 200, runs=2, seed=1, folder=tmp_path)
    assert same(again, cr.simulate_many("uniform", [model] * 6, 200, runs=2, seed=1))
    assert len(files(tmp_path)) == 1  # of the same simulation


PRESSED = """
results = cr.simulate_many("uniform", [model] * 1000, 1_000_000, runs=10, seed=0)
waited = time.process_time() - pressed[0]
assert waited < run.default_threads() * 1.0, waited
assert results.interrupted and 0 < results.runs < 10_000, results.runs
assert threading.active_count() == 1
print("stopped")
"""


def test_ctrl_c_returns_what_is_finished_within_a_second() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESS_CTRL_C + PRESSED], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "stopped\n", done.stderr
    assert "PartialResults: simulate_many was interrupted: " in done.stderr


def test_ctrl_c_before_the_first_run() -> None:
    with pytest.raises(KeyboardInterrupt):
        play_with(lambda *args: interrupted())


def interrupted() -> Any:
    raise KeyboardInterrupt


def play_with(submit: Callable[..., Any]) -> bool:
    """Play one query on workers of our own."""
    plan = plan_of("test", 10, 0, 0, 1, None, None)
    instances = many.instances_of("uniform", [MODELS[17]], plan, False)
    rows: list[Any] = []
    waiting = WaitingRuns(instances, 1, stacked([], plan.checkpoints.size))
    pool = Pool(1, shared=False, submit=submit, close=lambda: None)
    stopped = many.play_slices(plan, waiting, pool, rows.append, lambda done: None)
    if stopped and not rows:
        raise KeyboardInterrupt
    return bool(rows)


def test_a_slice_is_lost_three_times_at_most() -> None:
    tries: list[int] = []

    def losing(times: int) -> Callable[..., Future[Any]]:
        def submit(function: Callable[..., Any], *args: Any) -> Future[Any]:
            future: Future[Any] = Future()
            tries.append(1)
            if len(tries) <= times:
                future.set_exception(ConnectionError("the worker is gone"))
            else:
                future.set_result(function(*args))
            return future

        return submit

    assert play_with(losing(2))
    tries.clear()
    with pytest.raises(LostSlice, match=r"lost 3 times .*1 queries from 0 on.* worker is gone"):
        play_with(losing(3))
    assert len(tries) == 3


# What cannot be right.

BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"horizon": 0}, InvalidValue, "simulate_many: horizon must be a whole number of at least 1"),
    ({"runs": 0}, InvalidValue, "simulate_many: runs must be a whole number of at least 1"),
    ({"threads": 0}, InvalidValue, "simulate_many: threads must be a whole number of at least 1"),
    ({"checkpoints": [0]}, InvalidValue, "simulate_many: checkpoints must lie between 1 and"),
    ({"models": {}}, InvalidValue, "simulate_many: models must not be empty, got {}."),
    ({"models": 3}, InvalidValue, "simulate_many: models must be a mapping or a sequence"),
    ({"models": ["pbm"]}, InvalidValue, "Query 0: simulate_many: each model must be a click model"),
    ({"models": {2.5: MODELS[17]}}, InvalidValue, "simulate_many: keys must be strings or"),
    (
        {"policy_factory": cr.policies.PBMUCB([0.9, 0.6, 0.3])},
        InvalidValue,
        "Query 'query 2': PBMUCB: examination must have one entry per position (2), got 3.",
    ),
    (
        {"models": {**MODELS, "tea": cr.clickmodels.Cascade([0.5, 0.4], 2)}},
        DoesNotApply,
        "Query 'tea': PBMUCB: examination must be given, which click model 'cascade' does not have",
    ),
    (
        {"policy_factory": {17: "uniform"}},
        InvalidValue,
        "Query 'query 2': simulate_many: there must",
    ),
    (
        {"policy_factory": 3},
        InvalidValue,
        "Query 'query 2': simulate_many: policy_factory must be a policy, the name of one, a "
        "mapping from keys to policies, or a function of key and click model, got 3.",
    ),
    ({"label": ""}, InvalidValue, "simulate_many: label must be a string, got ''."),
    ({"counted_positions": 4}, InvalidValue, "Query 'query 2': PBM: n_positions must be a whole"),
    ({"folder": __file__}, InvalidValue, "simulate_many: folder must not be a file, got"),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_input(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        run(**change)
    assert str(caught.value).startswith(message)


def test_an_error_of_the_factory_names_the_query() -> None:
    known: dict[str, str] = {}
    with pytest.raises(QueryFailed) as caught:
        run(policy_factory=lambda key, model: known["tea"])
    assert str(caught.value) == "Query 'query 2' failed: KeyError('tea')."
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(QueryFailed, match=r"Query 'query 2' failed: TypeError.*takes 1 positional"):
        run(policy_factory=lambda model: "uniform")


def test_an_error_on_the_way_names_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Job.play

    def broken(self: Any, run: int, *args: Any, **options: Any) -> Any:
        if self.instance == (3,) and run == 1:
            raise InvalidValue("no more.")
        return play(self, run, *args, **options)

    monkeypatch.setattr(Job, "play", broken)
    with pytest.raises(InvalidValue, match="Query 'query 5': no more"):
        run()


# Where it runs.


def test_joblib_says_where() -> None:
    cores = len(os.sched_getaffinity(0))
    assert active_pool("test", None)[:2] == (cores, True)
    assert active_pool("test", 3)[:2] == (3, True)
    with joblib.parallel_config(n_jobs=5):
        assert active_pool("test", None)[:2] == (5, True)
    with joblib.parallel_config("threading", n_jobs=-1):
        assert active_pool("test", None)[:2] == (cores, True)
    with joblib.parallel_config("loky", n_jobs=2):
        assert active_pool("test", None)[:2] == (2, False)
    with (
        joblib.parallel_config("multiprocessing", n_jobs=2),
        pytest.raises(InvalidValue, match="must be threading, loky, dask or ray, got 'Multipr"),
    ):
        active_pool("test", None)


def test_copies_of_click_models_are_the_same_to_compiled_code() -> None:
    for model in (
        cr.clickmodels.DCTR([0.5, 0.4, 0.1], 2),
        cr.clickmodels.PBM([0.5, 0.4, 0.1], [1.0, 0.4]),
        cr.clickmodels.DCM([0.5, 0.4, 0.1], [0.8, 0.4]),
        cr.clickmodels.MNL([0.5, 0.4, 0.1], [1.0, 0.4]),
        cr.clickmodels.Cascade([0.5, 0.4, 0.1], 2),
    ):
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert type(other.params) is type(model.params)
            for ours, theirs in zip(model.params, other.params, strict=True):
                assert np.array_equal(ours, theirs)
                assert not theirs.flags.writeable
            assert other.params[0] is other.attraction
            assert repr(other) == repr(model)


def test_the_benchmark_runs(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--queries", "3", "--runs", "2", "--horizon", "50", "--repeats", "1"]
    costs = benchmark.main(["--policies", "uniform", *small])
    assert [(cost.threads, cost.runs) for cost in costs] == [(1, 6), (2, 6)]
    assert "ms per run" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(cr.policies.POLICIES))
def test_policies_can_be_sent_to_workers(name: str) -> None:
    settings: dict[str, Any] = {"scores": [0.5, 0.1]} if name == "ensemble" else {}
    model = matched_model(cr.policies.POLICIES[name], 2, 1)
    spec = cr.policy(name, model=model, horizon=10, **settings)
    assert pickle.loads(pickle.dumps(spec)) == spec
