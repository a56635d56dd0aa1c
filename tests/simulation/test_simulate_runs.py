"""The simulator: repeatable, paired, interruptible, and strict about its input."""

import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import IntStatistic
from clickrank._core.rng import streams
from clickrank.errors import ClickRankError, DoesNotApply, InvalidValue, UnknownName
from clickrank.rankings.selection import match_by_rank
from clickrank.simulation.simulate_runs import Job, recording_rounds

MODEL = cr.clickmodels.PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])


def test_result_fields() -> None:
    result = cr.simulate("pbm-ucb", MODEL, horizon=1000, runs=3, seed=0)
    assert result.regret.shape == (3, result.checkpoints.size)
    assert result.checkpoints[-1] == result.horizon == 1000
    assert np.all(np.diff(result.checkpoints) > 0)
    assert np.all(np.diff(result.regret, axis=1) >= 0)
    assert result.runs == 3
    assert not result.interrupted
    assert result.seconds > 0


def test_same_numbers_on_any_number_of_threads() -> None:
    one = cr.simulate("pbm-ts", MODEL, 500, runs=7, seed=3, threads=1)
    four = cr.simulate("pbm-ts", MODEL, 500, runs=7, seed=3, threads=4)
    assert np.array_equal(one.regret, four.regret)
    other = cr.simulate("pbm-ts", MODEL, 500, runs=7, seed=4)
    assert not np.array_equal(one.regret, other.regret)


def test_runs_do_not_depend_on_how_many_there_are() -> None:
    few = cr.simulate("pbm-ucb", MODEL, 300, runs=2, seed=5)
    many = cr.simulate("pbm-ucb", MODEL, 300, runs=5, seed=5)
    assert np.array_equal(few.regret, many.regret[:2])


class _Params(NamedTuple):
    draws: int


class _State(NamedTuple):
    clicks: IntStatistic


@dataclass(frozen=True)
class Restless(cr.policies.Policy):
    """Shows the most clicked items, and wastes some random numbers on the way."""

    name = "test-restless"
    assumes = cr.policies.Assumes()
    draws: int = 0

    def params(self, n_items: int, n_positions: int) -> _Params:
        return _Params(self.draws)

    def init(self, n_items: int, n_positions: int) -> _State:
        return _State(np.zeros(n_items, dtype=np.int64))


def _rank(
    params: Any, state: Any, cache: None, request: Any, rng: Any, ranking: Any, memo: Any
) -> None:
    for _ in range(params.draws):
        rng.random()
    match_by_rank(-1.0 / (1.0 + state.clicks), -1.0 * np.arange(ranking.shape[0]), ranking)


def _update(params: Any, state: Any, cache: None, ranking: Any, memo: Any, clicks: Any) -> None:
    for position in range(ranking.shape[0]):
        state.clicks[ranking[position]] += clicks[position]


def test_policies_meet_the_same_users() -> None:
    """Policies that act alike get the same clicks, whatever their own random numbers are for."""
    cr.policies.register(Restless, _State, _rank, _update)
    try:
        table = cr.compare({str(n): Restless(n) for n in (0, 1, 7)}, MODEL, 300, runs=5, seed=1)
    finally:
        cr.policies.POLICIES.remove("test-restless")
    assert np.array_equal(table["0"].regret, table["1"].regret)
    assert np.array_equal(table["0"].regret, table["7"].regret)
    assert len(set(table["0"].regret[:, -1])) > 1  # which depends on the clicks


def test_kernels_of_another_signature_are_refused() -> None:
    def rank(params: Any, state: Any, rng: Any, ranking: Any, memo: Any) -> None:
        pass

    rule = r"rank must take \(params, state, cache, request, rng, ranking, memo\)"
    with pytest.raises(InvalidValue, match=rule):
        cr.policies.register(Restless, _State, rank, _update)
    assert "test-restless" not in cr.policies.POLICIES


def test_items_are_permuted_in_every_run() -> None:
    """A policy that always shows the same labels sees other items in every run."""
    fixed = cr.policies.Oracle([0, 1, 2])
    object.__setattr__(fixed, "relabelled", lambda order, new: fixed)
    final = cr.simulate(fixed, MODEL, 10, runs=40, seed=0).regret[:, -1]
    assert len(set(final.round(9))) > 5  # a single value if items kept their labels


def test_regret_is_the_sum_of_gaps() -> None:
    """Uniform rankings lose the mean gap each round, computed over all rankings."""
    gaps = [MODEL.best_value() - MODEL.value(r) for r in permutations(range(5), 3)]
    result = cr.simulate("uniform", MODEL, 2000, runs=50, seed=2)
    rate = result.regret[:, -1] / 2000
    # The rate's standard error over 100,000 independent rounds.
    error = np.std(gaps) / np.sqrt(2000 * 50)
    assert abs(rate.mean() - np.mean(gaps)) < 5 * error


def test_checkpoints() -> None:
    assert recording_rounds(1, None).tolist() == [1]
    assert recording_rounds(10**6, None)[-1] == 10**6
    result = cr.simulate("uniform", MODEL, 100, checkpoints=[50, 7])
    assert result.checkpoints.tolist() == [7, 50, 100]
    whole = cr.simulate("uniform", MODEL, 100, checkpoints=range(1, 101))
    assert np.array_equal(whole.regret[:, [6, 49, 99]], result.regret)


def test_slices_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cr.simulate("rba-kl-ucb", MODEL, 3000, runs=2, seed=0, delay=3, batch=4)
    monkeypatch.setattr("clickrank.simulation.simulate_runs.LOOK_SECONDS", 1e-9)
    sliced = cr.simulate("rba-kl-ucb", MODEL, 3000, runs=2, seed=0, delay=3, batch=4)
    assert np.array_equal(whole.regret, sliced.regret)


def test_delay_equals_a_queue_in_python() -> None:
    """The compiled ring of impressions in flight against a plain list."""
    for delay, batch in ((0, 1), (1, 1), (5, 1), (0, 4), (3, 4), (10, 7)):
        order = streams(0, 0).items.permutation(5)
        rng = streams(0, 0)
        users = MODEL.relabelled(order)
        learner = cr.Learner(cr.policy("rba-kl-ucb"), 5, 3)
        flying: list[Any] = []
        regret = 0.0
        for t in range(1, 201):
            ranking, memo = learner.rank(rng.policy)
            flying.append((ranking, memo, users.sample(ranking, rng.users)))
            regret += MODEL.best_value() - users.value(ranking)
            if t % batch == 0:
                while len(flying) > delay:
                    learner.update(*flying.pop(0))
        result = cr.simulate("rba-kl-ucb", MODEL, 200, seed=0, delay=delay, batch=batch)
        assert result.regret[0, -1] == pytest.approx(regret, abs=1e-9), (delay, batch)


#: Waits until a run has ended before it presses Ctrl-C. Processor time does not depend on what
#: else the machine does: a second on each thread is more than a second.
PRESS_CTRL_C = """
import os, signal, threading, time
import numpy as np
import clickrank as cr
from clickrank.simulation import simulate_runs as run
signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup would have it ignored
model = cr.clickmodels.PBM([0.45, 0.35, 0.25, 0.15, 0.05], [0.9, 0.6, 0.3])
cr.simulate("uniform", model, 10)  # compiled before the clock starts
pressed, ended, play = [], threading.Event(), run.Job.play
def play_and_say(*arguments, **options):
    played = play(*arguments, **options)
    if "horizon" not in options:  # else it was compiled only
        ended.set()
    return played
run.Job.play = play_and_say
def press():
    ended.wait()
    pressed.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
"""
INTERRUPTED = """
result = cr.simulate("uniform", model, 1_000_000, runs=10_000, seed=0, threads=2)
waited = time.process_time() - pressed[0]
assert waited < 2 * 1.0, waited
assert result.interrupted and 0 < result.runs < 10_000, result.runs
again = cr.simulate("uniform", model, 1_000_000, runs=10_000, run_ids=result.run_ids[:2])
assert np.array_equal(result.regret[:2], again.regret)
print("stopped")
"""


def test_ctrl_c_returns_the_finished_runs_within_a_second() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRESS_CTRL_C + INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "stopped\n", done.stderr


def test_interrupted_simulations_can_be_completed() -> None:
    whole = cr.simulate("pbm-ucb", MODEL, 200, runs=6, seed=8)
    odd = cr.simulate("pbm-ucb", MODEL, 200, runs=6, seed=8, run_ids=[5, 1, 3])
    even = cr.simulate("pbm-ucb", MODEL, 200, runs=6, seed=8, run_ids=[0, 2, 4])
    assert odd.interrupted
    both = odd.merged(even)
    assert np.array_equal(both.regret, whole.regret)
    assert not both.interrupted


def test_memory_does_not_grow_with_the_horizon() -> None:
    import tracemalloc

    peaks = []
    for horizon in (1_000, 1_000_000):
        checkpoints = [horizon // 2]
        cr.simulate("pbm-ucb", MODEL, horizon, checkpoints=checkpoints, threads=1)
        tracemalloc.start()
        cr.simulate("pbm-ucb", MODEL, horizon, checkpoints=checkpoints, threads=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_compare_save_and_load(tmp_path: Path) -> None:
    table = cr.compare(["uniform", "oracle", "pbm-ucb"], MODEL, 500, runs=4, seed=0)
    rows = table.summary()
    assert [row.policy for row in rows] == ["oracle", "pbm-ucb", "uniform"]
    assert "pbm-ucb" in str(rows)
    table.save(tmp_path / "t.npz")
    again = cr.Comparison.load(tmp_path / "t.npz")
    assert again.summary() == rows
    assert list(again) == list(table)
    for label, result in table.items():
        assert np.array_equal(again[label].regret, result.regret)


def test_load_refuses_what_it_did_not_write(tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    for content in (b"", b"not a file of ours", b"PK\x03\x04 broken"):
        bad.write_bytes(content)
        with pytest.raises(ClickRankError, match="must be a file that save wrote"):
            cr.Comparison.load(bad)


def test_compare_labels() -> None:
    policies = {"bold": cr.policy("pbm-ucb", model=MODEL, epsilon=1.0), "shy": "pbm-ucb"}
    table = cr.compare(policies, MODEL, 200, runs=2)
    assert set(table) == {"bold", "shy"}
    with pytest.raises(InvalidValue, match="different labels"):
        cr.compare(["uniform", "uniform"], MODEL, 200)
    with pytest.raises(InvalidValue, match="must not be empty"):
        cr.compare([], MODEL, 200)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"horizon": 0},
        InvalidValue,
        "simulate: horizon must be a whole number of at least 1, got 0.",
    ),
    (
        {"horizon": -5},
        InvalidValue,
        "simulate: horizon must be a whole number of at least 1, got -5.",
    ),
    (
        {"horizon": 1.5},
        InvalidValue,
        "simulate: horizon must be a whole number of at least 1, got 1.5.",
    ),
    (
        {"horizon": None},
        InvalidValue,
        "simulate: horizon must be a whole number of at least 1, got None.",
    ),
    ({"runs": 0}, InvalidValue, "simulate: runs must be a whole number of at least 1, got 0."),
    ({"seed": -1}, InvalidValue, "simulate: seed must be a whole number of at least 0, got -1."),
    (
        {"delay": -1},
        InvalidValue,
        "simulate: delay must be a whole number between 0 and 100, got -1.",
    ),
    (
        {"batch": 0},
        InvalidValue,
        "simulate: batch must be a whole number between 1 and 100, got 0.",
    ),
    (
        {"threads": 0},
        InvalidValue,
        "simulate: threads must be a whole number of at least 1, got 0.",
    ),
    (
        {"checkpoints": [0]},
        InvalidValue,
        "simulate: checkpoints must lie between 1 and the horizon (100), got [0, 0].",
    ),
    ({"policy": "pbm-ubc"}, UnknownName, "Unknown policy 'pbm-ubc'. Did you mean 'pbm-ucb'?"),
    ({"model": "pbm"}, InvalidValue, "simulate: model must be a click model, got 'pbm'."),
    ({"run_ids": []}, InvalidValue, "simulate: run_ids must not be empty, got []."),
    (
        {"horizon": 10**20},
        InvalidValue,
        f"simulate: horizon must be a whole number of at least 1, got {10**20}.",
    ),
    ({"policy": 3}, InvalidValue, "simulate: policy must be a policy or the name of one, got 3."),
    (
        {"policy": cr.policies.PBMUCB(examination=[0.5])},
        InvalidValue,
        "PBMUCB: examination must have one entry per position (3), got 1.",
    ),
    (
        {"policy": cr.policies.PBMUCB([0.9, 0.8]), "model": cr.clickmodels.Cascade([0.5, 0.4], 2)},
        DoesNotApply,
        "PBMUCB: does not apply to the click model 'cascade': it assumes pbm clicks, not cascade. "
        "Pass allow_mismatch=True to run it anyway.",
    ),
    (
        {"policy": "pbm-ucb", "model": cr.clickmodels.Cascade([0.5, 0.4], 2)},
        DoesNotApply,
        "PBMUCB: examination must be given, which click model 'cascade' does not have. "
        "Give it, as in clickrank.policy('pbm-ucb', examination=...).",
    ),
    (
        {"policy": cr.policies.Oracle([0, 9, 1])},
        InvalidValue,
        "Oracle: ranking must hold distinct items between 0 and 4, got [0, 9, 1].",
    ),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_input(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    given = {"policy": "uniform", "model": MODEL, "horizon": 100, **change}
    with pytest.raises(kind) as caught:
        cr.simulate(**given)
    assert str(caught.value) == message


def test_nothing_runs_unless_every_policy_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Any] = []
    monkeypatch.setattr(Job, "play", lambda *args, **options: played.append(args))
    with pytest.raises(DoesNotApply):
        cr.compare(["uniform", "pbm-ucb"], cr.clickmodels.Cascade([0.5, 0.4], 2), 100)
    assert played == []


def test_a_mismatch_can_be_allowed() -> None:
    model = cr.clickmodels.Cascade([0.5, 0.4], 2)
    result = cr.simulate(cr.policies.PBMUCB([0.9, 0.8]), model, 100, allow_mismatch=True)
    assert np.isfinite(result.regret).all()


def test_policies_run_on_every_click_model() -> None:
    for model in (
        cr.clickmodels.DCTR([0.5, 0.4, 0.1], 2),
        cr.clickmodels.DCM([0.5, 0.4, 0.1], [0.8, 0.4]),
        cr.clickmodels.MNL([0.5, 0.4, 0.1], [1.0, 0.4]),
        cr.clickmodels.Cascade([0.5, 0.4, 0.1], 2),
    ):
        assert np.isfinite(cr.simulate("rba-kl-ucb", model, 300, runs=2).regret).all()


PARITY = """
import clickrank as cr
from clickrank.checks.playing import matched_model
for name, cls in cr.policies.POLICIES.items():
    if name == "skeleton":
        continue
    model = matched_model(cls, 5, 3)
    given = {"scores": [0.3, 0.1, 0.5, 0.2, 0.4]} if name == "ensemble" else {}
    policy = cr.policy(name, model=model, horizon=150, **given)
    result = cr.simulate(policy, model, 150, 2, seed=0, delay=1, batch=2)
    print(name, [x.hex() for x in result.regret[:, -1].tolist()])
"""


def test_compiled_equals_python_bit_for_bit() -> None:
    out = []
    for disabled in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(
            [sys.executable, "-c", PARITY], env=env, capture_output=True, text=True, check=True
        )
        out.append(done.stdout)
    assert out[0] == out[1]
    assert "pbm-ts" in out[0]


# Regret on the first positions only.


@pytest.mark.parametrize(
    "model",
    [
        cr.clickmodels.PBM([0.45, 0.35, 0.25, 0.15], [0.3, 0.6, 0.9]),
        cr.clickmodels.DCTR([0.45, 0.35, 0.25, 0.15], 3),
        cr.clickmodels.Cascade([0.45, 0.35, 0.25, 0.15], 3),
        cr.clickmodels.DCM([0.45, 0.35, 0.25, 0.15], [0.2, 0.9, 0.5]),
    ],
    ids=lambda model: model.name,
)
def test_the_first_positions_are_a_shorter_page(model: cr.clickmodels.ClickModel) -> None:
    """Checked by enumerating all click vectors of the whole page."""
    for m in (1, 2, 3):
        short = model.first_positions(m)
        assert (type(short), short.n_items, short.n_positions) == (type(model), 4, m)
        for ranking in permutations(range(4), 3):
            seen = short.click_probabilities(ranking[:m])
            assert seen == pytest.approx(model.click_probabilities(ranking)[:m], abs=1e-15)
            for clicks in product((0, 1), repeat=m):
                total = sum(
                    np.exp(model.log_prob(ranking, clicks + rest))
                    for rest in product((0, 1), repeat=3 - m)
                )
                assert np.exp(short.log_prob(ranking[:m], clicks)) == pytest.approx(total)
        best = max(short.value(r) for r in permutations(range(4), m))
        assert short.best_value() == pytest.approx(best, abs=1e-15)
    assert model.first_positions(3).value([2, 0, 1]) == model.value([2, 0, 1])


def test_regret_on_the_first_positions_is_that_of_the_shorter_page() -> None:
    model = cr.clickmodels.PBM([0.5, 0.4, 0.2, 0.1], [0.9, 0.6, 0.3])
    short = model.first_positions(2)
    result = cr.simulate("uniform", model, 20_000, runs=2, counted_positions=2)
    mean = np.mean([short.value(r) for r in permutations(range(4), 2)])
    expected = 20_000 * (short.best_value() - mean)
    assert result.regret[:, -1] == pytest.approx(expected, rel=0.02)
    # The last position is shown to the policy all the same, and no list is better than the best.
    learned = cr.simulate("pbm-ucb", model, 2_000, runs=2, counted_positions=2)
    assert (np.diff(learned.regret, axis=1) >= -1e-9).all()
    whole = cr.simulate("pbm-ucb", model, 2_000, runs=2)
    assert (whole.regret[:, -1] > learned.regret[:, -1]).all()
    every = cr.simulate("pbm-ucb", model, 2_000, runs=2, counted_positions=3)
    assert np.array_equal(every.regret, whole.regret)
    both = cr.compare(["pbm-ucb"], model, 2_000, runs=2, counted_positions=2)
    assert np.array_equal(both["pbm-ucb"].regret, learned.regret)


def test_counted_positions_that_make_no_sense_are_told() -> None:
    for m in (0, 4, 1.5):
        with pytest.raises(InvalidValue, match="n_positions must be a whole number between 1 and"):
            cr.simulate("uniform", MODEL, 10, counted_positions=m)  # type: ignore[arg-type]
    mnl = cr.clickmodels.MNL([0.5, 0.4], [1.0, 0.5])
    with pytest.raises(DoesNotApply, match="MNL: clicks at the first positions depend"):
        cr.simulate("uniform", mnl, 10, counted_positions=1)
