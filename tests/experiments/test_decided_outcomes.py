"""Outcomes of scale `decide`: shipped verdicts are those of the shipped runs, and runs verify."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from clickrank.cli.app import app
from clickrank.errors import MissingData, UnknownName
from clickrank.experiments import Scale, list_experiments, reproduce, run_archive, shipped_verdicts
from clickrank.experiments.decided_outcomes import (
    outcomes_in,
    restamp_same_runs,
    shipped,
    verify_runs,
    write_verdicts,
)
from clickrank.experiments.deciding import play_unit
from clickrank.experiments.figure_progress import Unit
from clickrank.experiments.figure_runs import plan_runs
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.paper_files import select
from clickrank.experiments.run_archive import SHIPPED, ArchivedRun, RunArchive
from clickrank.experiments.shipped_verdicts import VERDICTS, count_outcomes, load_verdicts

QUICK = ["lagree-2016", "grant-2020"]  # whose models are made at once


@pytest.fixture(scope="module")
def archive() -> RunArchive:
    return RunArchive(SHIPPED)


@pytest.mark.parametrize("paper", QUICK)
def test_shipped_verdicts_are_those_of_the_shipped_runs(
    paper: str, archive: RunArchive, tmp_path: Path
) -> None:
    known = list_experiments()
    outcomes = outcomes_in(select(paper, known), archive, tmp_path, known)
    again = [verdict for outcome in outcomes for verdict in shipped(outcome)]
    found = load_verdicts(paper)
    assert [(v.experiment, v.claim, v.outcome, v.measured) for v in found] == [
        (v.experiment, v.claim, v.outcome, v.measured) for v in again
    ]


def test_every_claim_has_a_shipped_verdict() -> None:
    found = {(v.experiment, v.claim) for v in load_verdicts()}
    expected = {(e.name, claim.id) for e in list_experiments() for claim in e.claims}
    # MovieLens may not be shipped, so that its figure has a verdict only where it was played.
    assert {pair for pair in expected - found if pair[0] != "li-2019/figure-2c"} == set()
    assert found <= expected


def test_no_shipped_run_is_stale() -> None:
    """Other code would give other numbers, or the numbers must be shown to be the same."""
    assert run_archive.stale_experiments(SHIPPED) == set()


def test_shipped_verdicts_are_read_without_numba_and_numpy(tmp_path: Path) -> None:
    """Unless sources have changed since they were written: then stamps are compared."""
    (experiment,) = select("grant-2020/figure-3", list_experiments())
    path = tiny_file(experiment, tmp_path)
    code = (
        "import sys; from pathlib import Path; "
        "from clickrank.experiments.shipped_verdicts import load_verdicts; "
        f"assert load_verdicts(path=Path({str(path)!r})); "
        "print([m for m in ('numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_shipped_runs_are_played_again_bit_for_bit(archive: RunArchive, tmp_path: Path) -> None:
    """Runs of figures with short horizons; the full check is `reproduce --verify`."""
    chosen = select("grant-2020/figure-3", list_experiments())
    found = verify_runs(archive, chosen, tmp_path, 3, seed=1)
    assert [one.same for one in found] == [True] * 3


def test_a_changed_run_is_noticed(tmp_path: Path) -> None:
    (experiment,) = select("grant-2020/figure-3", list_experiments())
    archive = RunArchive(tmp_path / "runs")
    strand = next(iter(plan_runs(experiment, tmp_path).curves.values()))[0]
    wrong = ArchivedRun(np.ones(strand.plan.checkpoints.size), 1.0)
    archive.add(experiment.name, strand, 0, wrong)
    archive.save(experiment.name)
    (found,) = verify_runs(RunArchive(tmp_path / "runs"), [experiment], tmp_path, 9, seed=1)
    assert not found.same


def tiny_file(experiment: Experiment, tmp_path: Path) -> Path:
    """Write an archive with one pass, and its verdicts."""
    archive = RunArchive(tmp_path / "results")
    runs = plan_runs(experiment, tmp_path)
    for strands in runs.curves.values():
        for place in runs.runs_of_pass(0):
            strand = strands[place.strand]
            regret = np.linspace(1.0, 2.0, strand.plan.checkpoints.size)
            archive.add(experiment.name, strand, place.run, ArchivedRun(regret, 1.0))
    archive.save(experiment.name)
    path = tmp_path / "results" / "verdicts.json"
    write_verdicts(outcomes_in([experiment], archive, tmp_path, [experiment]), path)
    return path


def test_verdicts_on_runs_of_other_code_are_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (experiment,) = select("grant-2020/figure-3", list_experiments())
    path = tiny_file(experiment, tmp_path)
    assert {v.stale for v in load_verdicts(path=path)} == {False}
    # Files have changed, but not what decides numbers.
    monkeypatch.setattr(shipped_verdicts, "sources_hash", lambda: "other files")
    assert {v.stale for v in load_verdicts(path=path)} == {False}
    monkeypatch.setattr(run_archive, "stamp_of", lambda policy, model: "other code")
    stale = load_verdicts(path=path)
    assert {v.stale for v in stale} == {True}
    assert stale[0].words.endswith(" (stale)")
    assert sum(count_outcomes(stale)) == len(stale)


@pytest.mark.parametrize("changed", [False, True])
def test_results_are_kept_if_changed_code_gives_the_same_numbers(
    changed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (experiment,) = select("grant-2020/figure-3", list_experiments())
    strand = plan_runs(experiment, tmp_path).curves["epoch-ucb"][0]
    run = play_unit(Unit(experiment.name, strand, 0), threading.Event())
    assert run is not None
    archive = RunArchive(tmp_path / "runs")
    monkeypatch.setattr(run_archive, "stamp_of", lambda policy, model: "earlier code")
    archive.add(experiment.name, strand, 0, ArchivedRun(run.regret + changed, 1.0))
    archive.save(experiment.name)
    monkeypatch.undo()
    archive = RunArchive(tmp_path / "runs")
    assert archive.is_stale(strand.key)
    said: list[str] = []
    restamp_same_runs(archive, [experiment], tmp_path, 3, said.append)
    assert RunArchive(tmp_path / "runs").is_stale(strand.key) == changed
    assert said == [f"epoch-ucb on mnl: {'DIFFERENT' if changed else 'the same'} in 1 runs"]


def test_verdicts_of_a_target(tmp_path: Path) -> None:
    (experiment,) = select("grant-2020/figure-3", list_experiments())
    path = tiny_file(experiment, tmp_path)
    assert load_verdicts("grant-2020", path) == load_verdicts("grant-2020/figure-3", path)
    with pytest.raises(UnknownName, match="Did you mean 'grant-2020'"):
        load_verdicts("grant-202", path)
    with pytest.raises(MissingData, match="reproduce --scale decide"):
        load_verdicts(path=tmp_path / "nothing.json")


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.output


def test_the_command_verdicts() -> None:
    code, text = run("verdicts", "lagree-2016")
    assert code == 0
    assert "claims: " in text
    assert "lagree-2016/figure-1a" in text
    assert "gauthier" not in text
    code, text = run("verdicts", "lagree-2016/figure-1a", "--json")
    assert code == 0
    entries = msgspec.json.decode(text)
    assert {entry["experiment"] for entry in entries} == {"lagree-2016/figure-1a"}
    assert {"outcome", "interval", "scale", "measured", "stale"} <= set(entries[0])
    assert run("verdicts", "lagree-2017")[0] == 2


@pytest.mark.parametrize("budget", ["2", "h", "-1h", "0s", "2 hours", "infh"])
def test_a_budget_that_is_no_time(budget: str) -> None:
    code, text = run("reproduce", "--scale", "decide", "--budget", budget)
    assert code == 2
    assert f"--budget must be a time such as 2h, 30m or 90s, got '{budget}'" in text


def test_a_budget_needs_the_scale_decide(tmp_path: Path) -> None:
    code, text = run("reproduce", "lagree-2016", "--budget", "1h", "--out", str(tmp_path))
    assert code == 2
    assert "--scale must be 'decide' if a budget is given, got 'quick'" in text


def test_reproduce_at_scale_decide_builds_on_the_shipped_runs(tmp_path: Path) -> None:
    """With hardly any budget it reports what is shipped, or a little more."""
    out = tmp_path / "out"
    code, text = run(
        "reproduce", "grant-2020/figure-3", "--scale", "decide", "--budget", "0.01s",
        "--out", str(out), "--json",
    )  # fmt: skip
    assert code == 0, text
    found = {
        e["claim"]: e["outcome"] for e in msgspec.json.decode((out / "claims.json").read_bytes())
    }
    assert found == {v.claim: v.outcome for v in load_verdicts("grant-2020/figure-3")}
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "passes of 10 runs" in page


def test_a_report_shows_the_shipped_verdicts_next_to_its_own(tmp_path: Path) -> None:
    done = reproduce(
        "grant-2020/figure-3", scale=Scale(horizon=50, runs=2), out=tmp_path, progress=False
    )
    page = done.report.read_text(encoding="utf-8")
    judged = [v for v in load_verdicts("grant-2020/figure-3") if v.outcome != "history"]
    assert page.count("in the shipped results:") == len(judged) > 0
    assert "What holds, and what does not" in page
    assert page.count('<th scope="row">grant-2020') == 1


def test_verify_says_which_runs_are_the_same(tmp_path: Path) -> None:
    code, text = run("reproduce", "grant-2020/figure-3", "--verify", "2", "--out", str(tmp_path))
    assert code == 0, text
    assert "2 of 2 runs are the same, bit for bit." in text
    assert VERDICTS.exists()


def test_verify_needs_no_number(tmp_path: Path) -> None:
    code, text = run("reproduce", "grant-2020/figure-3", "--verify", "--out", str(tmp_path))
    assert code == 0, text
    assert "5 of 5 runs are the same, bit for bit." in text
