"""Experiments as data: decoding, running, resuming, reporting; at a tiny scale."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from clickrank.clickmodels import PBM, ClickModel
from clickrank.errors import DoesNotApply, InvalidValue, UnknownName
from clickrank.experiments import Experiment, Scale, list_experiments, reproduce
from clickrank.experiments import movielens as movielens_module
from clickrank.experiments import runner as runner_module
from clickrank.experiments import simulation_plan as plan_module
from clickrank.experiments.claim_evidence import Evidence
from clickrank.experiments.cross_figure_claims import judged_across
from clickrank.experiments.figure_models import build_model, load_model, models_of
from clickrank.experiments.figure_spec import Figure, PolicySpec, ScaleName
from clickrank.experiments.model_sources import ModelSet
from clickrank.experiments.paper_files import DATA, PAPERS, read, select
from clickrank.experiments.runner import ExperimentOutcome, collect, joined
from clickrank.experiments.simulation_plan import Cell, ManyCell, cells, runs_by_model
from clickrank.experiments.verdicts import ClaimVerdict, Decision
from clickrank.policies import POLICIES, TopRank
from clickrank.simulation import Result, simulate

TINY = Scale(horizon=200, runs=4)
SCALES: dict[ScaleName, Scale] = {"quick": TINY, "paper": TINY}
FIGURE = """
title = "Tiny"
seed = 3
bound = "pbm"
survival = true
differences = ["Tiny & quick."]

[model]
name = "pbm"
parameters.attraction = [0.5, 0.3, 0.1]
parameters.examination = [0.9, 0.5]

[[policies]]
name = "pbm-ucb"

[[policies]]
name = "pbm-ucb"
label = "eager"
settings = { epsilon = 1.0 }
beyond = true

[scale.quick]
horizon = 200
runs = 4

[scale.paper]
horizon = 400
runs = 6
"""
EXPECTED = """
[paper]
title = "A <title>"
authors = "Nobody"
year = 2000
key = "nobody2000"
aliases = ["n"]

[[claims]]
kind = "order"
figure = "tiny"
id = "less"
text = "The plain policy loses less."
source = "stated in the text"
policies = ["pbm-ucb", "eager"]
"""


class Said(list[str]):
    """Collects what `reproduce` says."""

    def __call__(self, text: str) -> None:
        self.append(text)


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers" / "nobody-2000"
    folder.mkdir(parents=True)
    (folder / "tiny.toml").write_text(FIGURE)
    (folder / "expected.toml").write_text(EXPECTED)
    return tmp_path / "papers"


@pytest.fixture
def tiny(papers: Path) -> list[Experiment]:
    return list_experiments(papers)


def files(out: Path) -> list[Path]:
    return sorted((out / "results").rglob("*.npz"))


# The files that come with clickrank.


@pytest.mark.parametrize("experiment", list_experiments(), ids=lambda e: e.name)
def test_shipped_experiments_are_complete(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = experiment.figure
    if figure.movielens is not None:  # its ratings do not come with clickrank: here are others
        movies = figure.movielens.movies
        rated = np.argwhere(np.random.default_rng(1).random((120, movies)) < 0.2)
        np.savetxt(tmp_path / "ratings.csv", rated, "%d", ",", header="userId,movieId")
        monkeypatch.setattr(movielens_module, "FOLDERS", (str(tmp_path),))
    assert experiment.claims
    assert all(policy.name in POLICIES for policy in figure.policies)
    ids = [claim.id for claim in experiment.claims]
    assert len(set(ids)) == len(ids)
    assert figure.scale["quick"].runs <= figure.scale["paper"].runs
    for scale in figure.scale.values():
        parts = cells(experiment, scale, tmp_path)
        for curve in parts.values():
            ran = sorted(run for cell in curve for run in cell.run_ids)
            each = figure.model_set is not None and figure.model_set.runs == "each"
            count = len(models_of(figure)) if each else 1
            if isinstance(curve[0], ManyCell):
                count = len(curve[0].models)
            assert ran == list(range(scale.runs * count))
        paths = [cell.path for curve in parts.values() for cell in curve]
        assert len(set(paths)) == len(paths)
    kept = ("scores-", "data-")  # what data came to, in case that it goes away
    assert not [path for path in files(tmp_path) if not path.name.startswith(kept)]


@pytest.mark.parametrize(
    ("number", "key"),
    [
        ("000", "grant2020"),
        ("001", "lagree2016"),
        ("002", "li2019"),
        ("003", "gauthier2022"),
        ("004", "kveton2022"),
    ],
)
def test_a_paper_is_found_by_its_bibliography_key_and_by_its_former_number(
    number: str, key: str
) -> None:
    known = list_experiments()
    found = select(key, known)
    assert {e.paper.key for e in found} == {key}
    assert select(number, known) == found
    assert select(found[0].paper_id, known) == found


def test_a_figure_is_found_by_its_paper_and_name() -> None:
    names = [e.name for e in select("lagree2016", list_experiments())]
    expected = [f"lagree-2016/figure-{f}" for f in ("1a", "1b", "1b-long", "2")]
    assert names == [*expected, "lagree-2016/robustness"]
    assert select("lagree2016/figure-2", list_experiments())[0].name == "lagree-2016/figure-2"


def test_the_data_come_with_their_licence() -> None:
    assert "MIT License" in (DATA / "LICENSE-ranking_bandits.txt").read_text()
    assert len(json.loads((DATA / "kdd2012-pbm.json").read_text())) == 8


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'lagree-2016'"):
        reproduce("lagre-2016")
    with pytest.raises(UnknownName, match=r"Did you mean 'figure-1.'"):
        reproduce("001/figure-1")


# Decoding.


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "Tiny"', 'titel = "Tiny"', "titel"),
        ("runs = 4", "runs = 0", r"runs must be at least 1.*scale"),
        ("runs = 4", 'runs = "many"', r"Expected `int`, got `str`.*runs"),
        ("[scale.paper]", "[scale.huge]", "huge"),
        ('label = "eager"', "", "different label"),
        ("[model]", "[model_set]", "model_set"),
        ('bound = "pbm"', 'bound = "yes"', "bound"),
        ("seed = 3", "seed = ", "must be TOML"),
    ],
)
def test_a_wrong_figure_is_told_by_file_and_key(
    papers: Path, old: str, new: str, message: str
) -> None:
    path = papers / "nobody-2000" / "tiny.toml"
    path.write_text(FIGURE.replace(old, new, 1))
    with pytest.raises(InvalidValue, match=rf"tiny\.toml: .*{message}"):
        list_experiments(papers)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "order"', 'kind = "odor"', "odor"),
        ('source = "stated in the text"', 'source = "hearsay"', "hearsay"),
        ('figure = "tiny"', 'figure = "9"', "figure must be one of tiny, got '9'"),
        ('"eager"]', '"lazy"]', "policy must be one of pbm-ucb, eager, got 'lazy'"),
    ],
)
def test_a_wrong_claim_is_told_by_file_and_key(
    papers: Path, old: str, new: str, message: str
) -> None:
    path = papers / "nobody-2000" / "expected.toml"
    path.write_text(EXPECTED.replace(old, new, 1))
    with pytest.raises(InvalidValue, match=rf"expected\.toml: .*{message}"):
        list_experiments(papers)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="must be readable"):
        read(tmp_path / "none.toml", Figure)


def test_models_are_built_from_data(tmp_path: Path) -> None:
    as_json = tmp_path / "m.json"
    as_json.write_text('{"model": "pbm", "attraction": [0.5, 0.2], "examination": [1.0]}')
    as_toml = tmp_path / "m.toml"
    as_toml.write_text('model = "cascade"\nattraction = [0.5, 0.2]\nn_positions = 2\n')
    assert load_model(as_json).name == "pbm"
    assert load_model(as_toml).name == "cascade"
    for text, message in (("[]", "key 'model'"), ("{", "must be JSON or TOML")):
        as_json.write_text(text)
        with pytest.raises(InvalidValue, match=message):
            load_model(as_json)
    with pytest.raises(InvalidValue, match="must be readable"):
        load_model(tmp_path / "none.json")
    with pytest.raises(UnknownName, match="Did you mean 'examination'"):
        build_model("pbm", {"attraction": [0.5], "examinations": [1.0]})


# Running.


def test_reproduce_runs_saves_and_reports(tiny: list[Experiment], tmp_path: Path) -> None:
    said = Said()
    done = reproduce(out=tmp_path, scale=TINY, experiments=tiny, say=said)
    (outcome,) = done.outcomes
    assert not done.interrupted
    assert outcome.complete
    assert list(outcome.results) == ["pbm-ucb", "eager"]
    assert outcome.results["eager"].runs == TINY.runs
    assert len(files(tmp_path)) == 2
    assert said[-1] == "nobody-2000/tiny: done."
    assert done.report == tmp_path / "index.html"
    # The same as simulate alone, and half the horizon is recorded.
    model = models_of(tiny[0].figure)[""]
    alone = simulate("pbm-ucb", model, 200, 4, seed=3)
    saved = outcome.results["pbm-ucb"]
    assert (saved.regret[:, -1] == alone.regret[:, -1]).all()
    assert 100 in saved.checkpoints


def test_a_second_call_simulates_nothing(
    tiny: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reproduce(out=tmp_path, scale=TINY, experiments=tiny)
    page = first.report.read_text()
    first.report.unlink()
    monkeypatch.setattr(runner_module, "simulate", _never)
    said = Said()
    second = reproduce(out=tmp_path, scale=TINY, experiments=tiny, say=said)
    assert said == ["nobody-2000/tiny: done, nothing to simulate."]
    assert second.report.read_text() == page


def _never(*args: Any, **options: Any) -> Result:
    raise AssertionError("nothing is left to simulate")


def test_ctrl_c_keeps_finished_runs_and_the_next_call_does_the_rest(
    tiny: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reproduce(out=tmp_path / "whole", scale=TINY, experiments=tiny).outcomes[0].results
    asked: list[list[int]] = []

    def stopped(*args: Any, run_ids: list[int], **options: Any) -> Result:
        asked.append(run_ids)
        return simulate(*args, run_ids=run_ids[:3], **options)

    monkeypatch.setattr(runner_module, "simulate", stopped)
    said = Said()
    out = tmp_path / "out"
    partial = reproduce(out=out, scale=TINY, experiments=tiny, say=said)
    assert partial.interrupted
    assert "the same command runs the rest" in said[-1]
    assert [r.runs for r in partial.outcomes[0].results.values()] == [3]
    assert "Incomplete" in partial.report.read_text()

    def watched(*args: Any, run_ids: list[int], **options: Any) -> Result:
        asked.append(run_ids)
        return simulate(*args, run_ids=run_ids, **options)

    monkeypatch.setattr(runner_module, "simulate", watched)
    done = reproduce(out=out, scale=TINY, experiments=tiny)
    assert asked == [[0, 1, 2, 3], [3], [0, 1, 2, 3]]
    for curve, result in done.outcomes[0].results.items():
        assert (result.regret == whole[curve].regret).all()
        assert (result.run_ids == whole[curve].run_ids).all()
    assert "Incomplete" not in done.report.read_text()


def test_ctrl_c_before_the_first_run_is_over(
    tiny: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*args: Any, **options: Any) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner_module, "simulate", stopped)
    done = reproduce(out=tmp_path, scale=TINY, experiments=tiny)
    assert done.interrupted
    assert not files(tmp_path)
    assert done.outcomes[0].verdicts[0][1].outcome == "undecided"


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "flipped", "foreign"])
def test_a_damaged_file_is_computed_again(
    tiny: list[Experiment], tmp_path: Path, damage: str
) -> None:
    before = reproduce(out=tmp_path, scale=TINY, experiments=tiny)
    victim = next(p for p in files(tmp_path) if "eager" in p.name)
    good = victim.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0xFF
    other = next(p for p in files(tmp_path) if "eager" not in p.name).read_bytes()
    victim.write_bytes(
        {
            "empty": b"",
            "text": b"not a result",
            "cut": good[: len(good) // 2],
            "flipped": bytes(flipped),
            "foreign": other,
        }[damage]
    )
    said = Said()
    after = reproduce(out=tmp_path, scale=TINY, experiments=tiny, say=said)
    assert sum("cannot be read" in line for line in said) == 1
    assert "[2/2] nobody-2000/tiny eager: 4 runs of 200 rounds" in said
    old, new = (r.outcomes[0].results["eager"].regret for r in (before, after))
    assert (old == new).all()


def test_a_new_setting_or_code_is_a_new_result(
    tiny: list[Experiment], papers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paths(experiments: list[Experiment], scale: Scale) -> set[Path]:
        return {c.path for p in cells(experiments[0], scale, tmp_path).values() for c in p}

    base = paths(tiny, TINY)
    assert paths(tiny, TINY) == base
    assert not paths(tiny, Scale(horizon=200, runs=5)) & base
    assert not paths(tiny, Scale(horizon=201, runs=4)) & base
    file = papers / "nobody-2000" / "tiny.toml"
    file.write_text(FIGURE.replace("epsilon = 1.0", "epsilon = 2.0"))
    assert len(paths(list_experiments(papers), TINY) & base) == 1
    file.write_text(FIGURE.replace("0.5, 0.3, 0.1", "0.5, 0.3, 0.2"))
    assert not paths(list_experiments(papers), TINY) & base
    monkeypatch.setattr(plan_module, "fingerprint", lambda *keys: "other code")
    assert not paths(tiny, TINY) & base


def test_a_policy_that_does_not_apply_stops_before_any_simulation(
    papers: Path, tmp_path: Path
) -> None:
    cascade = FIGURE.replace('name = "pbm"\n', 'name = "cascade"\n', 1)
    cascade = cascade.replace("parameters.examination = [0.9, 0.5]", "parameters.n_positions = 2")
    (papers / "nobody-2000" / "tiny.toml").write_text(cascade.replace('bound = "pbm"', ""))
    with pytest.raises(DoesNotApply, match="PBMUCB"):
        reproduce(out=tmp_path, scale=TINY, experiments=list_experiments(papers))


# Sets of models.


def test_each_run_draws_one_model_the_same_for_all_policies(tmp_path: Path) -> None:
    experiment = select("001/figure-2", list_experiments())[0]
    labels = list(models_of(experiment.figure))
    runs = runs_by_model(experiment.figure, labels, 4000)
    counts = np.array([len(ids) for ids in runs.values()])
    assert counts.sum() == 4000
    assert (abs(counts - 500) < 6 * np.sqrt(500)).all()  # 6 standard deviations
    curves = cells(experiment, Scale(horizon=10, runs=50), tmp_path)
    per_policy = [
        [(repr(c.model), c.run_ids) for c in parts if isinstance(c, Cell)]
        for parts in curves.values()
    ]
    assert all(per_policy)
    assert all(part == per_policy[0] for part in per_policy)


def test_runs_on_several_models_are_put_together_by_number(tmp_path: Path) -> None:
    shipped = select("001/figure-2", list_experiments())[0]
    figure = {**{f: getattr(shipped.figure, f) for f in shipped.figure.__struct_fields__}}
    figure["policies"] = shipped.figure.policies[:1]
    fields = {f: getattr(shipped, f) for f in shipped.__struct_fields__}
    only = Experiment(**{**fields, "figure": Figure(**figure), "claims": []})
    scale = Scale(horizon=100, runs=12)
    done = reproduce(out=tmp_path, scale=scale, experiments=[only])
    (outcome,) = done.outcomes
    assert outcome.complete
    result = outcome.results["pbm-ucb"]
    assert result.run_ids.tolist() == list(range(12))
    models = models_of(only.figure)
    for label, ids in runs_by_model(only.figure, list(models), 12).items():
        if ids:
            alone = simulate("pbm-ucb", models[label], 100, 12, only.figure.seed, run_ids=ids)
            assert (result.regret[ids, -1] == alone.regret[:, -1]).all()


def test_joining_one_part_changes_nothing(tiny: list[Experiment], tmp_path: Path) -> None:
    model = models_of(tiny[0].figure)[""]
    part = simulate("pbm-ucb", model, 10, 2)
    assert joined("x", [part]) is part


@pytest.mark.parametrize("first", [None, 2])
def test_each_model_of_a_set_gets_as_many_runs(first: int | None) -> None:
    models = ModelSet(name="pbm", file="kdd2012-pbm.json", runs="each", first=first)
    figure = Figure(
        title="t", policies=[PolicySpec(name="uniform")], scale=SCALES, model_set=models
    )
    labels = list(models_of(figure))
    assert len(labels) == (first or 8)
    runs = runs_by_model(figure, labels, 3)
    assert [len(ids) for ids in runs.values()] == [3] * len(labels)
    assert sorted(i for ids in runs.values() for i in ids) == list(range(3 * len(labels)))


def test_a_set_can_be_cut_to_the_largest_parameters() -> None:
    def cut(name: str, file: str) -> list[ClickModel]:
        chosen = ModelSet(name=name, file=file, items=10, positions=5)
        policies = [PolicySpec(name="uniform")]
        figure = Figure(title="t", policies=policies, scale=SCALES, model_set=chosen)
        return list(models_of(figure).values())

    published = json.loads((DATA / "yandex-pbm.json").read_text())
    for model, table in zip(cut("pbm", "yandex-pbm.json"), published.values(), strict=True):
        assert isinstance(model, PBM)
        assert model.attraction.tolist() == sorted(table["attraction"])[-10:][::-1]
        assert model.examination.tolist() == sorted(table["examination"])[-5:][::-1]
    for model in cut("cascade", "yandex-cascade.json"):
        assert (model.name, model.n_items, model.n_positions) == ("cascade", 10, 5)


# Panels, grids, times and policies that stop.

SETTINGS = """
[small]
title = "small page"
counted_positions = 1
differences = ["A small page."]

[small.model]
name = "pbm"
parameters.attraction = [0.5, 0.3, 0.1]
parameters.examination = [0.9, 0.5]

[cascade]
title = "a cascade"

[cascade.model]
name = "cascade"
parameters.attraction = [0.5, 0.3, 0.1]
parameters.n_positions = 2
"""
PANELS = """
title = "Panels"
references = ["unirank-upper"]
differences = ["All panels."]

[[panels]]
suffix = "a"
setting = "small"

[[panels]]
suffix = "-b"
setting = "cascade"
settings = { eager = { epsilon = 2.0 } }
scale.quick = { horizon = 50, runs = 3 }

[[policies]]
name = "uniform"
share = 0.5
milliseconds = 2.5

[[policies]]
name = "pbm-ucb"
label = "eager"
settings = { epsilon = 1.0, examination = [0.9, 0.5] }
mismatch = true

[scale.quick]
horizon = 200
runs = 4

[scale.paper]
horizon = 400
runs = 6
"""
GRID = """
title = "Grid"

[model]
name = "pbm"
parameters.attraction = [0.5, 0.3, 0.1]
parameters.examination = [0.9, 0.5]

[[policies]]
name = "uniform"

[grid]
name = "pb-lb"
x = { parameter = "step_size", values = [0.0, 0.5, 1.0] }
y = { parameter = "precision", values = [0.5] }

[scale.quick]
horizon = 50
runs = 2
thin = 2

[scale.paper]
horizon = 50
runs = 2
"""
PANEL_CLAIM = """
[[claims]]
kind = "order"
figure = FIGURE
id = "learns"
text = "It learns."
source = "stated in the text"
policies = ["eager", "uniform"]
"""


@pytest.fixture
def panels(tmp_path: Path) -> Path:
    folder = tmp_path / "papers" / "nobody-2000"
    folder.mkdir(parents=True)
    (folder / "parts.toml").write_text(PANELS)
    (folder / "settings.toml").write_text(SETTINGS)
    head = EXPECTED[: EXPECTED.index("[[claims]]")]
    (folder / "expected.toml").write_text(head + PANEL_CLAIM.replace("FIGURE", '"parts"'))
    return tmp_path / "papers"


def test_panels_are_figures_on_shared_settings(panels: Path) -> None:
    first, second = list_experiments(panels)
    assert [first.name, second.name] == ["nobody-2000/partsa", "nobody-2000/parts-b"]
    assert first.figure.title == "Panels: small page"
    assert first.figure.differences == ["All panels.", "A small page."]
    assert first.figure.counted_positions == 1
    assert first.figure.scale["quick"] == Scale(horizon=200, runs=4)
    assert second.figure.scale["quick"] == Scale(horizon=50, runs=3)
    assert second.figure.scale["paper"] == Scale(horizon=400, runs=6)
    epsilons = [e.figure.policies[1].settings["epsilon"] for e in (first, second)]
    assert epsilons == [1.0, 2.0]
    # The figure stands for its panels, in claims and on the command line.
    assert [c.figure for e in (first, second) for c in e.claims] == ["partsa", "parts-b"]
    assert select("n/parts", [first, second]) == [first, second]
    assert select("n/parts-b", [first, second]) == [second]


@pytest.mark.parametrize(
    ("panels_asked", "decisions", "expected"),
    [
        ("{ least = 1 }", ["holds", "undecided"], "holds"),
        ("{ least = 2 }", ["holds", "undecided"], "undecided"),
        ("{ least = 2 }", ["holds", "fails"], "fails"),
        ("{ least = 1, most = 1 }", ["holds", "undecided"], "undecided"),
        ("{ least = 1, most = 1 }", ["holds", "holds"], "fails"),
        ("{ least = 1, most = 1 }", ["holds", "fails"], "holds"),
    ],
)
def test_a_claim_may_be_that_it_holds_in_a_number_of_panels(
    panels: Path, panels_asked: str, decisions: list[Decision], expected: str
) -> None:
    file = panels / "nobody-2000" / "expected.toml"
    head = EXPECTED[: EXPECTED.index("[[claims]]")]
    claim = PANEL_CLAIM.replace("FIGURE", '"parts"')
    file.write_text(f"{head}{claim}panels = {panels_asked}\n")
    known = list_experiments(panels)
    outcomes = [
        ExperimentOutcome(e, TINY, Evidence({}, {}), [(e.claims[0], ClaimVerdict(d, "measured 1"))])
        for e, d in zip(known, decisions, strict=True)
    ]
    for outcome in judged_across(outcomes, known):
        verdict = outcome.verdicts[0][1]
        assert (verdict.outcome, verdict.so_far) == (expected, False)
        assert f"holds in {decisions.count('holds')} and" in verdict.measured
    # A panel that was not run is undecided.
    (alone,) = judged_across(outcomes[:1], known)
    assert alone.verdicts[0][1].so_far


def test_figures_are_compared_with_each_other(panels: Path, tmp_path: Path) -> None:
    file = panels / "nobody-2000" / "expected.toml"
    head = EXPECTED[: EXPECTED.index("[[claims]]")]
    claim = PANEL_CLAIM.replace("FIGURE", '"partsa"').replace('"order"', '"panel-ratio"')
    there = 'policy = "eager"\nwindow = "more"\nover = "parts-b"'
    file.write_text(head + claim.replace('policies = ["eager", "uniform"]', there))
    known = list_experiments(panels)
    one_pass = Scale(horizon=50, runs=10)
    done = reproduce(out=tmp_path, scale=one_pass, experiments=known)
    assert "in parts-b" in done.outcomes[0].verdicts[0][1].measured
    file.write_text(file.read_text().replace('over = "parts-b"', 'over = "parts-c"'))
    with pytest.raises(InvalidValue, match="over must be one of partsa, parts-b, got 'parts-c'"):
        list_experiments(panels)


def test_a_claim_can_name_some_panels(panels: Path) -> None:
    file = panels / "nobody-2000" / "expected.toml"
    head = EXPECTED[: EXPECTED.index("[[claims]]")]
    file.write_text(head + PANEL_CLAIM.replace("FIGURE", '["parts-b"]'))
    assert [len(e.claims) for e in list_experiments(panels)] == [0, 1]
    file.write_text(head + PANEL_CLAIM.replace("FIGURE", '["parts-c"]'))
    with pytest.raises(InvalidValue, match="figure must be one of parts, partsa, parts-b, got"):
        list_experiments(panels)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('setting = "small"', 'setting = "smal"', "setting 'smal' must be one of small, cascade"),
        ('suffix = "-b"', 'suffix = "a"', "different suffixes"),
        ("{ eager = {", "{ lazy = {", r"panel '-b' sets unknown curves \['lazy'\]"),
        ("share = 0.5", "share = 1.5", "share must be above 0 and at most 1"),
        ("horizon = 200", "thin = 0\nhorizon = 200", "thin must be at least 1"),
    ],
)
def test_a_wrong_panel_is_told_by_file(panels: Path, old: str, new: str, message: str) -> None:
    (panels / "nobody-2000" / "parts.toml").write_text(PANELS.replace(old, new, 1))
    with pytest.raises(InvalidValue, match=rf"parts\.toml: .*{message}"):
        list_experiments(panels)


def test_panels_run_with_counted_positions_and_mismatches(panels: Path, tmp_path: Path) -> None:
    known = list_experiments(panels)
    done = reproduce(out=tmp_path, scale="quick", experiments=known)
    first, second = done.outcomes
    model = models_of(known[0].figure)[""]
    alone = simulate("uniform", model, 100, 4, known[0].figure.seed, counted_positions=1)
    assert (first.results["uniform"].regret[:, -1] == alone.regret[:, -1]).all()
    assert (first.results["uniform"].horizon, first.results["eager"].horizon) == (100, 200)
    assert 100 in first.results["eager"].checkpoints  # where the other stops
    assert second.results["eager"].runs == 3
    assert first.complete
    assert "stopped at round 100" in done.report.read_text()
    assert done.report.read_text().count("regret on the first 1 positions.") == 1  # no bounds there


def test_a_grid_is_drawn_as_a_map(papers: Path, tmp_path: Path) -> None:
    (papers / "nobody-2000" / "grid.toml").write_text(GRID)
    known = list_experiments(papers)
    done = reproduce("n/grid", out=tmp_path, scale="quick", experiments=known)
    (outcome,) = done.outcomes
    cells = [f"pb-lb step_size={x} precision=0.5" for x in ("0", "0.5", "1")]
    assert list(outcome.results) == ["uniform", cells[0], cells[2]]  # one in two
    assert outcome.complete
    assert list(outcome.evidence.grid.items()) == list(
        zip(cells, [(0.0, 0.5), (0.5, 0.5), (1.0, 0.5)], strict=True)
    )
    page = done.report.read_text()
    assert page.count("<svg") == 1
    assert "Mean regret of pb-lb at the horizon" in page
    paper = reproduce("n/grid", out=tmp_path, scale="paper", experiments=known).outcomes[0]
    assert list(paper.results) == ["uniform", *cells]


def test_a_grid_of_unknown_parameters_is_an_error(papers: Path, tmp_path: Path) -> None:
    (papers / "nobody-2000" / "grid.toml").write_text(GRID.replace("step_size", "stepsize"))
    with pytest.raises(InvalidValue, match="unknown parameter 'stepsize'"):
        reproduce("n/grid", out=tmp_path, experiments=list_experiments(papers))


def test_a_claim_about_a_grid_needs_one(papers: Path) -> None:
    folder = papers / "nobody-2000"
    claim = EXPECTED[EXPECTED.index("[[claims]]") :].replace('"order"', '"spread"')
    claim = claim.replace('policies = ["pbm-ucb", "eager"]', 'window = "more"')
    (folder / "expected.toml").write_text(EXPECTED + claim.replace('"less"', '"wide"'))
    with pytest.raises(InvalidValue, match=r"claim 'wide': tiny must have a grid"):
        list_experiments(papers)


# The report.


def test_the_report_needs_nothing_else(tiny: list[Experiment], tmp_path: Path) -> None:
    done = reproduce(out=tmp_path, scale=TINY, experiments=tiny)
    page = done.report.read_text()
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\((?!#)", page)
    assert all(ref.startswith("#") for ref in re.findall(r'(?:src|href)="([^"]*)"', page))


def test_the_report_shows_all_there_is(tiny: list[Experiment], tmp_path: Path) -> None:
    done = reproduce(out=tmp_path, scale="quick", experiments=tiny)
    page = done.report.read_text()
    assert page.count("<svg") == 2  # regret, and its spread over runs
    claim, verdict = done.outcomes[0].verdicts[0]
    for text in (
        claim.text,
        claim.source,
        verdict.measured,
        f"badge {verdict.outcome}",
        "Tiny &amp; quick.",
        "A &lt;title&gt;",
        "not in the paper’s figure",
        f"clickrank reproduce nobody-2000/tiny --scale quick --out {tmp_path}",
        "4 runs of 200 rounds",
        "Numba",
    ):
        assert text in page


def test_a_shorter_run_than_the_papers_says_so_far_everywhere(
    tiny: list[Experiment], tmp_path: Path
) -> None:
    """The page, its counts, the terminal and the JSON; at the paper's horizon none of them does."""
    for scale, words in (("quick", " so far"), ("paper", "")):
        done = reproduce(out=tmp_path / scale, scale=scale, experiments=tiny)
        (claim, verdict) = done.outcomes[0].verdicts[0]
        assert verdict.words == f"{verdict.outcome}{words}"
        page = done.report.read_text().split('<table class="overview">')[1]
        assert page.count(f">{verdict.words}</span>") == 1
        assert page.count(f">1 {verdict.words}</span>") == 1
        console = Console(record=True, width=120, file=io.StringIO())
        console.print(done.claims_table())
        assert ("so far" in console.export_text()) == bool(words)
        (fact,) = json.loads((tmp_path / scale / "claims.json").read_text())
        assert fact == json.loads(json.dumps(done.claims()[0]))
        assert (fact["claim"], fact["verdict"]) == (claim.id, verdict.words)
        assert (fact["rounds"], fact["simulated_rounds"]) == (400, 200 if words else 400)


def test_a_sweep_does_not_take_rounds_and_a_time_needs_the_papers(papers: Path) -> None:
    file = papers / "nobody-2000" / "expected.toml"
    file.write_text(EXPECTED.replace('kind = "order"', 'kind = "time-ratio"'))
    with pytest.raises(InvalidValue, match="milliseconds must be given"):
        list_experiments(papers)
    file.write_text(EXPECTED + "rounds = 0\n")
    with pytest.raises(InvalidValue, match="rounds must be at least 1"):
        list_experiments(papers)


def test_times_of_other_programs_are_shown_apart(panels: Path, tmp_path: Path) -> None:
    folder = panels / "nobody-2000"
    text = PANELS.replace("mismatch = true", "mismatch = true\nmilliseconds = 5.0")
    (folder / "parts.toml").write_text(text)
    head = EXPECTED[: EXPECTED.index("[[claims]]")]
    claim = PANEL_CLAIM.replace("FIGURE", '"partsa"').replace('"order"', '"time-ratio"')
    (folder / "expected.toml").write_text(head + claim)
    known = [e for e in list_experiments(panels) if e.claims]
    page = reproduce(out=tmp_path, scale=TINY, experiments=known).report.read_text()
    assert "Claims marked <em>history</em>" in page
    assert "fact of history" in page
    assert "1 history" in page
    assert "<h3>Claims</h3>" not in page


def test_the_report_keeps_other_experiments_of_the_folder(papers: Path, tmp_path: Path) -> None:
    folder = papers / "nobody-2000"
    (folder / "small.toml").write_text(FIGURE.replace('"Tiny"', '"Small"'))
    (folder / "never.toml").write_text(FIGURE.replace('"Tiny"', '"Never"'))
    both = list_experiments(papers)
    reproduce("n/tiny", out=tmp_path, scale=TINY, experiments=both)
    done = reproduce("n/small", out=tmp_path, scale=TINY, experiments=both)
    assert [o.experiment.figure_id for o in done.outcomes] == ["small"]
    page = done.report.read_text()
    assert "<h2>Tiny</h2>" in page
    assert "<h2>Small</h2>" in page
    assert "<h2>Never</h2>" not in page


def test_collect_reads_and_never_simulates(
    tiny: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "simulate", _never)
    outcome = collect(tiny[0], TINY, tmp_path, Said())
    assert not outcome.results
    assert not outcome.complete


def test_an_unknown_scale_is_an_error(tiny: list[Experiment], tmp_path: Path) -> None:
    with pytest.raises(
        InvalidValue, match="scale must be 'quick', 'decide' or 'paper', got 'huge'"
    ):
        reproduce(out=tmp_path, scale="huge", experiments=tiny)


def test_shipped_files_speak_only_of_the_papers() -> None:
    for path in PAPERS.rglob("*.toml"):
        assert "http" not in path.read_text(encoding="utf-8")


def test_a_policy_can_be_told_another_horizon(papers: Path, tmp_path: Path) -> None:
    text = FIGURE.replace('name = "pbm-ucb"\nlabel', 'name = "toprank"\nlabel')
    text = text.replace("{ epsilon = 1.0 }", "{ horizon = 1_000_000 }")
    (papers / "nobody-2000" / "tiny.toml").write_text(text)
    (experiment,) = list_experiments(papers)
    (cell,) = cells(experiment, TINY, tmp_path)["eager"]
    assert isinstance(cell, Cell)
    assert cell.policy == TopRank(horizon=1_000_000)


def test_times_are_measured_last_and_alone(
    panels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = panels / "nobody-2000" / "a-table.toml"
    file.write_text(PANELS.replace('title = "Panels"', 'title = "Times"\ntimed = true'))
    used: list[int | None] = []

    def watched(*args: Any, threads: int | None, **options: Any) -> Result:
        used.append(threads)
        return simulate(*args, threads=threads, **options)

    monkeypatch.setattr(runner_module, "simulate", watched)
    said = Said()
    known = list_experiments(panels)
    done = reproduce(out=tmp_path, scale=TINY, experiments=known, threads=2, say=said)
    finished = [line.split("/")[1].split(":")[0] for line in said if line.endswith("done.")]
    assert finished == ["partsa", "parts-b", "a-tablea", "a-table-b"]
    assert used == [2] * 4 + [1] * 4
    page = done.report.read_text()
    assert "paper: ms per round" in page
    assert "<td>2.5</td>" in page
    assert page.count("<svg") == 2  # the timed ones have none
