"""Scale `decide`: balanced passes, an archive of runs, and a budget that goes where it decides."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from clickrank.experiments import (
    code_stamp,
    deciding,
    figure_runs,
    list_experiments,
    run_archive,
)
from clickrank.experiments.archived_evidence import results_in
from clickrank.experiments.code_stamp import stamp_of
from clickrank.experiments.decided_outcomes import verify_runs
from clickrank.experiments.deciding import decide
from clickrank.experiments.figure_progress import FigureProgress
from clickrank.experiments.figure_runs import plan_runs
from clickrank.experiments.figure_spec import Experiment
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.simulation import simulate

FIGURE = """
title = "Tiny"
seed = 3
[model]
name = "pbm"
parameters = { attraction = [0.6, 0.4, 0.2], examination = [0.9, 0.5] }
[[policies]]
name = "oracle"
[[policies]]
name = "uniform"
[[policies]]
name = "epsilon-greedy"
settings = { exploration = 1e9 }
label = "again"
[scale.quick]
horizon = 50
runs = 2
[scale.decide]
horizon = 100
runs = 8
[scale.paper]
horizon = 100
runs = 4
"""
EXPECTED = """
[paper]
title = "T"
authors = "Nobody"
year = 2000
key = "nobody2000"
[[claims]]
kind = "order"
figure = "tiny"
id = "clear"
text = "The oracle is better."
source = "stated in the text"
policies = ["oracle", "uniform"]
[[claims]]
kind = "order"
figure = "tiny"
id = "equal"
text = "Uniform is better than exploring in every round, which is the same."
source = "stated in the text"
policies = ["uniform", "again"]
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Experiment:
    folder = tmp_path / "papers" / "nobody-2000"
    folder.mkdir(parents=True)
    (folder / "tiny.toml").write_text(FIGURE)
    (folder / "expected.toml").write_text(EXPECTED)
    (found,) = list_experiments(tmp_path / "papers")
    return found


def outcomes(tiny: Experiment, archive: RunArchive, cache: Path) -> dict[str, str]:
    progress = FigureProgress(tiny, archive, cache)
    return {claim.id: verdict.outcome for claim, verdict in progress.outcome.verdicts}


def test_runs_are_added_until_claims_are_decided_or_the_cap_is_reached(
    tiny: Experiment, tmp_path: Path
) -> None:
    archive = RunArchive(tmp_path / "runs")
    said: list[str] = []
    decide([tiny], archive, tmp_path, say=said.append)
    assert outcomes(tiny, archive, tmp_path) == {"clear": "holds", "equal": "undecided"}
    results = results_in(plan_runs(tiny, tmp_path), archive)
    passes = {curve: result.runs // 10 for curve, result in results.items()}
    assert passes["uniform"] == passes["again"] == 8  # the cap
    assert passes["oracle"] < 8  # decided before, and eliminated
    assert said[-1] == "nobody-2000/tiny: 1 holds, 0 fails, 1 undecided"
    # The same call finds everything in the files, and plays nothing.
    said.clear()
    decide([tiny], RunArchive(tmp_path / "runs"), tmp_path, say=said.append)
    assert said == []


@pytest.fixture
def long(tiny: Experiment, monkeypatch: pytest.MonkeyPatch) -> Experiment:
    """The same figure with 10,000 rounds, which count as long, so that runs may be stopped."""
    monkeypatch.setattr(figure_runs, "LONG_RUN", 1000)
    scale = {k: replace(v, horizon=10_000, runs=20) for k, v in tiny.figure.scale.items()}
    return replace(tiny, figure=replace(tiny.figure, scale=scale))


def test_runs_that_lose_too_much_are_stopped_early(long: Experiment, tmp_path: Path) -> None:
    """A hundredth of the rounds shows that the uniform policy loses more than the oracle ever."""
    clear = replace(long, claims=long.claims[:1])
    archive = RunArchive(tmp_path / "runs")
    decide([clear], archive, tmp_path)
    progress = FigureProgress(clear, archive, tmp_path)
    assert progress.runs.stops == (100, 1000)
    ((_, verdict),) = progress.outcome.verdicts
    assert verdict.outcome == "holds"
    assert "(uniform stopped at round 100)" in verdict.measured
    assert progress.passes("oracle", 10_000) > 1
    assert progress.passes("uniform", 1000) == 0 < progress.passes("uniform", 100)
    # The uniform policy was played to round 100 only, and a replay verifies such runs too.
    strands = archive.strands_of(long.name)
    assert {s.facts.curve: s.checkpoints[-1] for s in strands}["uniform"] == 100
    assert all(one.same for one in verify_runs(archive, [clear], tmp_path, 9, seed=1))


def test_curves_that_are_equal_are_played_to_the_end(long: Experiment, tmp_path: Path) -> None:
    """Stopping one early cannot tell them apart, and the longer runs replace the shorter ones."""
    equal = replace(long, claims=long.claims[1:])
    archive = RunArchive(tmp_path / "runs")
    decide([equal], archive, tmp_path)
    progress = FigureProgress(equal, RunArchive(tmp_path / "runs"), tmp_path)
    assert progress.outcome.verdicts[0][1].outcome == "undecided"
    for curve in ("uniform", "again"):
        assert progress.passes(curve, 10_000) == 20
    stored = [(s.facts.curve, int(s.checkpoints[-1])) for s in archive.strands_of(long.name)]
    assert {end for curve, end in stored if archive_runs(archive, long, curve, end)} == {10_000}


def archive_runs(archive: RunArchive, experiment: Experiment, curve: str, end: int) -> int:
    """Count the archived runs of a curve that end at a round."""
    strands = archive.strands_of(experiment.name)
    return sum(len(s.runs) for s in strands if s.facts.curve == curve and s.checkpoints[-1] == end)


def test_a_claim_on_few_rounds_needs_no_whole_runs(long: Experiment, tmp_path: Path) -> None:
    claim = msgspec.structs.replace(long.claims[0], rounds=50)
    archive = RunArchive(tmp_path / "runs")
    decide([replace(long, claims=[claim])], archive, tmp_path)
    progress = FigureProgress(replace(long, claims=[claim]), archive, tmp_path)
    ((_, verdict),) = progress.outcome.verdicts
    assert (verdict.outcome, verdict.so_far) == ("holds", False)
    assert progress.passes("oracle", 1000) == 0 < progress.passes("oracle", 100)


def test_archived_runs_are_those_of_simulate(tiny: Experiment, tmp_path: Path) -> None:
    archive = RunArchive(tmp_path / "runs")
    decide([tiny], archive, tmp_path)
    runs = plan_runs(tiny, tmp_path)
    (strand,) = runs.curves["uniform"]
    again = RunArchive(tmp_path / "runs")
    expected = simulate(
        strand.policy, strand.model, 100, 20, seed=3, checkpoints=strand.plan.checkpoints
    )
    found = results_in(runs, again)["uniform"]
    assert np.array_equal(found.checkpoints, expected.checkpoints)
    assert np.array_equal(found.regret[:20], expected.regret)  # bit for bit


def test_ctrl_c_and_a_budget_keep_the_finished_runs(
    tiny: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = RunArchive(tmp_path / "runs")
    decide([tiny], archive, tmp_path, budget=0.0)
    assert archive.experiments == []
    seen = 0
    play = deciding.play_unit

    def interrupted(*args: object) -> object:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt
        return play(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(deciding, "play_unit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        decide([tiny], archive, tmp_path, threads=1)
    monkeypatch.undo()
    kept = RunArchive(tmp_path / "runs")
    assert kept.experiments == ["nobody-2000/tiny"]
    whole = RunArchive(tmp_path / "whole")
    decide([tiny], kept, tmp_path)
    decide([tiny], whole, tmp_path)
    runs = plan_runs(tiny, tmp_path)
    for curve, result in results_in(runs, whole).items():
        assert np.array_equal(results_in(runs, kept)[curve].regret, result.regret)


def test_runs_of_other_code_are_stale_and_played_again(
    tiny: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = RunArchive(tmp_path / "runs")
    runs = plan_runs(tiny, tmp_path)
    (strand,) = runs.curves["uniform"]
    wrong = ArchivedRun(np.full(strand.plan.checkpoints.size, 1e9), 1.0)
    monkeypatch.setattr(run_archive, "stamp_of", lambda policy, model: "other code")
    for run in range(10):
        archive.add(tiny.name, strand, run, wrong)
    archive.save(tiny.name)
    monkeypatch.undo()
    archive = RunArchive(tmp_path / "runs")
    assert archive.is_stale(strand.key)
    assert RunArchive(tmp_path / "more", archive).is_stale(strand.key)
    decide([tiny], archive, tmp_path)
    again = RunArchive(tmp_path / "runs")
    assert not again.is_stale(strand.key)
    assert results_in(runs, again)["uniform"].regret.max() < 100


def test_runs_of_a_base_archive_are_used_and_stay_there(tiny: Experiment, tmp_path: Path) -> None:
    base = RunArchive(tmp_path / "base")
    decide([tiny], base, tmp_path)
    said: list[str] = []
    above = RunArchive(tmp_path / "above", base)
    decide([tiny], above, tmp_path, say=said.append)
    assert said == []
    assert not (tmp_path / "above").exists()


def test_a_longer_run_has_the_numbers_of_a_shorter_one(tiny: Experiment, tmp_path: Path) -> None:
    archive = RunArchive(tmp_path / "runs")
    decide([tiny], archive, tmp_path)
    figure = tiny.figure
    shorter = {k: replace(scale, horizon=10) for k, scale in figure.scale.items()}
    short = replace(tiny, figure_id="short", figure=replace(figure, scale=shorter))
    found = results_in(plan_runs(short, tmp_path), archive)["uniform"]
    whole = results_in(plan_runs(tiny, tmp_path), archive)["uniform"]
    assert found.horizon == 10
    place = int(np.searchsorted(whole.checkpoints, 10))
    assert np.array_equal(found.regret[:, -1], whole.regret[:, place])


def test_passes_are_balanced(tmp_path: Path) -> None:
    """Every pass over a set of queries has one run on each, and no run comes twice."""
    checked = 0
    for experiment in list_experiments():
        figure = experiment.figure
        if figure.many or figure.grid is not None:  # whose models or policies take long to make
            continue
        runs = plan_runs(experiment, tmp_path)
        models = len(next(iter(runs.curves.values())))
        assert len(set(runs.order)) == len(runs.order)
        assert {len(strands) for strands in runs.curves.values()} == {models}
        for number in (0, runs.passes - 1):
            counts = Counter(place.strand for place in runs.runs_of_pass(number))
            assert sum(counts.values()) == runs.pass_size
            if models > 1 and figure.model_set is not None and figure.model_set.runs == "each":
                assert counts == Counter(range(models))
                checked += 1
    assert checked > 20


def test_drawn_models_are_played_prior_by_prior(tmp_path: Path) -> None:
    """The first draw from each of the 20 priors comes before the second."""
    (experiment,) = [e for e in list_experiments() if e.name == "kveton-2022/figure-1-dctr"]
    order = plan_runs(experiment, tmp_path).order
    assert [place.strand for place in order[:21]] == [*range(0, 400, 20), 1]


def test_a_stamp_does_not_see_words_but_sees_numbers(
    tiny: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comments, docstrings, annotations and names of files leave the stamp as it is."""
    (strand,) = plan_runs(tiny, tmp_path).curves["uniform"]
    before = stamp_of(type(strand.policy), type(strand.model))
    source = Path(code_stamp.__file__).parents[1] / "policies" / "uniform.py"
    text = source.read_text()

    def stamp_with(changed: str) -> str:
        copy = tmp_path / "renamed.py"
        copy.write_text(changed)
        module = type(strand.policy).__module__
        plain = code_stamp.file_of
        monkeypatch.setattr(code_stamp, "file_of", lambda m: copy if m == module else plain(m))
        code_stamp.forget()
        found = stamp_of(type(strand.policy), type(strand.model))
        monkeypatch.undo()
        code_stamp.forget()
        return found

    assert stamp_with(text) == before
    reworded = text.replace("Write the first steps", "Write the beginning").replace(": Ints,", ",")
    assert reworded.count("beginning") == 1
    assert stamp_with(f"# A comment\n{reworded}") == before
    changed = text.replace("    for ", "    ranking[0] = 0\n    for ", 1)
    assert changed != text
    assert stamp_with(changed) != before
