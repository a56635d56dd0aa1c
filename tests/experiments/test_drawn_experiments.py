"""Experiments on drawn models and on judged queries: what is drawn, given, run and estimated."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.sparse import csr_matrix

from clickrank._core.rng import streams
from clickrank.bounds import linear_lower_bound, linear_upper_bound
from clickrank.clickmodels import DCM, PBM, LinearAttraction
from clickrank.errors import InvalidValue, MissingExtra
from clickrank.experiments import Experiment, Scale, judged_queries, list_experiments, reproduce
from clickrank.experiments.bound_lines import reference_lines
from clickrank.experiments.cost_estimate import estimate, like_mslr
from clickrank.experiments.figure_models import DRAWINGS, draw_instances, draw_linear, drawing
from clickrank.experiments.horizon_bounds import upper_bounds
from clickrank.experiments.judged_queries import instance
from clickrank.experiments.model_sources import Drawn, Judged, Linear
from clickrank.experiments.paper_files import select
from clickrank.experiments.runner import by_model
from clickrank.experiments.simulation_plan import ManyCell, cells, played_on
from clickrank.policies import ThompsonSampling
from clickrank.priors import JudgedQueries
from clickrank.simulation import Result
from clickrank.stats.beta_prior import Beta

DRAWN = """
title = "Drawn"
seed = 3
[drawn]
name = "cascade"
items = 6
parameters = { n_positions = 2 }
alpha = [1, 10]
beta = 10.0
priors = 2
draws = 3
[[policies]]
name = "thompson"
knows = "prior"
[[policies]]
name = "thompson"
label = "misled"
knows = { alpha = 10, beta = 1 }
[[policies]]
name = "greedy"
knows = "prior"
[scale.quick]
horizon = 200
runs = 2
[scale.paper]
horizon = 200
runs = 4
"""
SWEEP = """
title = "Swept"
bound = "bayes"
[drawn]
name = "cascade"
items = 6
parameters = { n_positions = 2 }
draws = 120
[sweep]
label = "γ"
xscale = "log"
points = [{ at = 1, alpha = 1, beta = 10 }, { at = 100, alpha = 100, beta = 1000 }]
[[policies]]
name = "thompson"
knows = "prior"
[scale.quick]
horizon = 200
runs = 1
[scale.paper]
horizon = 200
runs = 1
"""
EXPECTED = """
[paper]
title = "T"
authors = "Nobody"
year = 2000
key = "nobody2000"
[[claims]]
kind = "falls"
figure = "swept"
id = "falls"
text = "It falls."
source = "stated in the text"
policies = ["thompson"]
[[claims]]
kind = "bound-ratio"
figure = "swept"
id = "bound"
text = "The bound holds."
source = "stated in the text"
policies = ["thompson"]
window = "more"
"""


@pytest.fixture
def experiments(tmp_path: Path) -> list[Experiment]:
    folder = tmp_path / "papers" / "nobody-2000"
    folder.mkdir(parents=True)
    for name, text in (("drawn", DRAWN), ("swept", SWEEP), ("expected", EXPECTED)):
        (folder / f"{name}.toml").write_text(text)
    return list_experiments(tmp_path / "papers")


def test_models_are_drawn_from_the_prior_that_comes_with_them() -> None:
    drawn = Drawn(
        name="dctr", items=4000, parameters={"n_positions": 2}, alpha=(1, 10), beta=10.0,
        priors=2, draws=3,
    )  # fmt: skip
    found = draw_instances(drawn, seed=5)
    assert list(found) == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    priors = [instance.prior for instance in found.values()]
    assert priors[0] == priors[2] != priors[3]
    for it in found.values():
        assert it.prior is not None
        alpha, beta = it.prior.for_items(4000)
        assert set(alpha.tolist()) == set(range(1, 11))
        assert set(beta.tolist()) == {10.0}
        # The mean of 4,000 standardised draws, within five standard errors.
        z = (it.model.params.attraction - it.prior.mean) / np.sqrt(it.prior.variance)
        assert abs(z.mean()) < 5 / np.sqrt(4000)
    drawn_too = Drawn(name="cascade", items=4000, parameters={"n_positions": 2},
                      alpha=(1, 10), beta=10.0, priors=2, draws=3)  # fmt: skip
    other = draw_instances(drawn_too, seed=5)
    # The same pages, whatever the click model.
    assert all(
        np.array_equal(found[key].model.params.attraction, other[key].model.params.attraction)
        for key in found
    )


def test_policies_are_told_what_the_figure_says(
    experiments: list[Experiment], tmp_path: Path
) -> None:
    figure = experiments[0].figure
    found = cells(experiments[0], figure.scale["quick"], tmp_path)
    (told,), (misled,), (greedy,) = found.values()
    assert isinstance(told, ManyCell)
    assert isinstance(misled, ManyCell)
    assert told.run_ids == list(range(12))
    assert list(told.models) == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    assert figure.drawn is not None
    drawn = draw_instances(figure.drawn, figure.seed)
    for label, policy in told.policies.items():
        assert isinstance(policy, ThompsonSampling)
        assert policy.prior == drawn[str(label)].prior
        assert policy.click_model == "cascade"
    assert {p.prior for p in misled.policies.values()} == {Beta(10, 1)}  # type: ignore[attr-defined]
    assert len({told.path, misled.path, greedy.path}) == 3
    other = cells(experiments[0], figure.scale["paper"], tmp_path)
    assert other["thompson"][0].path != told.path


def test_drawn_and_swept_experiments_run_and_report(
    experiments: list[Experiment], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = reproduce(out=out, experiments=experiments, threads=2, progress=False)
    drawn, swept = done.outcomes
    assert drawn.complete
    assert swept.complete
    assert {r.runs for r in drawn.results.values()} == {6}  # models, two runs each
    assert list(swept.results) == ["thompson γ=1", "thompson γ=100"]
    assert [verdict.outcome for _, verdict in swept.verdicts] == ["holds", "holds"]
    assert swept.evidence.upper["thompson γ=1"] > swept.evidence.upper["thompson γ=100"] > 0
    page = done.report.read_text(encoding="utf-8")
    assert "regret after 200 rounds" in page
    assert "upper bound" in page
    assert not list((out / "results").rglob("*.part"))
    before = {path: path.stat().st_mtime_ns for path in (out / "results").rglob("*.npz")}
    assert len(before) == 5
    reproduce(out=out, experiments=experiments, threads=1, progress=False)
    assert before == {path: path.stat().st_mtime_ns for path in before}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'kind = "falls"',
            'kind = "order"',
            "kind must be a kind for sweeps in swept, got 'order'",
        ),
        ('figure = "swept"\nid = "falls"', 'figure = "drawn"\nid = "falls"', "must have a sweep"),
    ],
)
def test_claims_about_sweeps_need_one(
    experiments: list[Experiment], tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "papers" / "nobody-2000" / "expected.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(InvalidValue, match=message):
        list_experiments(tmp_path / "papers")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("draws = 120", "draws = 0", "draws must be at least 1"),
        ("{ at = 1, alpha = 1, beta = 10 }, ", "", "points must be at least two"),
        ("draws = 120", "draws = 120\nalpha = [5, 2]", "the smaller first"),
    ],
)
def test_a_wrong_sweep_is_told_by_file(
    experiments: list[Experiment], tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "papers" / "nobody-2000" / "swept.toml"
    path.write_text(SWEEP.replace(old, new))
    with pytest.raises(InvalidValue, match=r"swept.toml.*" + message):
        list_experiments(tmp_path / "papers")


LINEAR = """
title = "Linear"
bound = "linear"
[linear]
name = "pbm"
items = 6
features = 3
parameters = { examination = [1.0, 0.5] }
draws = 4
[sweep]
label = "L"
points = [{ at = 6, items = 6 }, { at = 9, items = 9, features = 4 }]
[[policies]]
name = "recurrank"
[scale.quick]
horizon = 50
runs = 1
models = 3
[scale.paper]
horizon = 200
runs = 1
"""


def test_linear_models_along_an_axis(experiments: list[Experiment], tmp_path: Path) -> None:
    """Each place has its own items and features, the first models of each, and its own bound."""
    (tmp_path / "papers" / "nobody-2000" / "linear.toml").write_text(LINEAR)
    found = next(e for e in list_experiments(tmp_path / "papers") if e.figure_id == "linear")
    scale = found.figure.scale["quick"]
    players = played_on(found, scale, tmp_path)
    sizes = {}
    for spec, instances in players:
        assert list(instances) == ["0", "1", "2"]
        features = [instance.model.features for instance in instances.values()]
        sizes[spec.curve] = {(f.n_items, f.n_features) for f in features}
    assert sizes == {"recurrank L=6": {(6, 3)}, "recurrank L=9": {(9, 4)}}
    assert upper_bounds(players, scale) == {
        "recurrank L=6": linear_upper_bound(6, 2, 3, 50),
        "recurrank L=9": linear_upper_bound(9, 2, 4, 50),
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ at = 6, items = 6 }", "{ at = 6, alpha = 1 }", "points must give items or features"),
        ("{ at = 6, items = 6 }", "{ at = 6 }", "points must give items or features"),
        ("features = 3\n", "features = 3\northogonal = true\n", "as many features as items"),
        ('bound = "linear"', 'bound = "bayes"', "the bound 'bayes' needs drawn models"),
        ("[linear]", "[drawn]", "Object contains unknown field|needs a sweep of linear models"),
    ],
)
def test_a_wrong_sweep_of_linear_models(
    experiments: list[Experiment], tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "papers" / "nobody-2000" / "linear.toml"
    assert old in LINEAR
    path.write_text(LINEAR.replace(old, new))
    with pytest.raises(InvalidValue, match=rf"linear.toml.*({message})"):
        list_experiments(tmp_path / "papers")


def test_quick_runs_of_li2019_are_the_beginning_of_the_papers() -> None:
    """Confidence levels and widths are those of the paper's number of rounds at every scale."""
    checked = 0
    for experiment in list_experiments():
        figure = experiment.figure
        if experiment.paper_id != "li-2019" or figure.sweep is not None:
            continue
        rounds = figure.scale["paper"].horizon
        assert figure.scale["quick"].horizon < rounds
        for spec in figure.policies:
            if spec.name == "toprank":
                assert spec.settings["failure"] == pytest.approx(rounds**-0.5, rel=1e-12)
            elif spec.name != "cascade-lin-ts" and "width" not in spec.settings:
                assert spec.settings["horizon"] == rounds, spec.curve
            checked += 1
    assert checked >= 30


def test_orthogonal_features_tell_nothing() -> None:
    source = Linear(
        name="dctr", items=5, features=5, orthogonal=True, parameters={"n_positions": 2}, draws=2
    )
    one, two = (instance.model for instance in draw_linear(source, seed=0).values())
    assert np.array_equal(one.features.values, np.eye(5))
    assert not np.array_equal(one.attraction, two.attraction)


def test_bounds_for_linear_models_are_drawn_where_they_tell_something() -> None:
    """The upper one from some 900,000 rounds on with the pages of li2019; the lower one always."""
    examination = [1 / k for k in range(1, 11)]
    rng = np.random.default_rng(0)
    attraction = LinearAttraction.normalised(rng.normal(size=(10_000, 4)), rng.normal(size=4))
    rounds = np.array([1e4, 1e5, 1e6, 5e6])
    models = {"": PBM(attraction, examination)}
    (upper,), _ = reference_lines(["recurrank-upper"], models, rounds)
    assert upper.x.tolist() == [1e6, 5e6]
    none, reasons = reference_lines(["recurrank-upper"], models, rounds[:2])
    assert not none
    assert "above all" in reasons[0]
    alone = {"": PBM(LinearAttraction(np.eye(100), np.linspace(0, 1, 100)), examination)}
    (lower,), _ = reference_lines(["linear-lower"], alone, rounds)
    assert lower.y[2] == pytest.approx(linear_lower_bound(10, 100, 1_000_000))
    _, reasons = reference_lines(["linear-lower"], {"": PBM([0.5, 0.2], [1.0])}, rounds)
    assert "model must have features" in reasons[0]


JUDGED = Judged(
    positions=10, one_in=3, attraction=[0.0, 0.2, 0.4, 0.8, 1.0], targets=[0.0, 0.25, 0.5, 0.75, 1]
)


@pytest.mark.parametrize(("documents", "positions"), [(1, 1), (3, 1), (4, 2), (27, 9), (120, 10)])
def test_a_list_is_a_third_of_the_documents_at_most(documents: int, positions: int) -> None:
    grades = np.arange(documents) % 5
    scores = np.full((10, documents), 0.3)
    it = instance(JUDGED, grades, scores)
    assert it.model.n_positions == positions
    assert it.model.params.attraction.tolist() == [JUDGED.attraction[g] for g in grades]
    assert it.prior is not None
    np.testing.assert_allclose(it.prior.mean, 0.3)
    np.testing.assert_allclose(it.prior.weight, 10.0)


def test_a_judged_query_of_other_clicks_and_its_tempered_prior() -> None:
    grades = np.array([0, 1, 2, 3, 4, 0])
    alike = np.tile(np.linspace(0.1, 0.6, 6), (10, 1))
    it = instance(replace(JUDGED, name="dcm", satisfaction=0.25, one_in=2), grades, alike)
    assert isinstance(it.model, DCM)
    assert it.model.satisfaction.tolist() == [0.25] * 3
    assert it.tempered is not None
    np.testing.assert_allclose(it.tempered.weight, 1.0)  # ten rankers that agree are one
    np.testing.assert_allclose(it.tempered.mean, np.linspace(0.1, 0.6, 6))
    over_all = instance(JUDGED, grades, alike, votes=4.0).tempered
    assert over_all is not None
    np.testing.assert_allclose(over_all.weight, 4.0)


def test_ndcg_by_hand() -> None:
    grades = np.array([0, 2, 1, 4])
    best = 15 + 3 / math.log2(3) + 1 / 2
    shown = 3 + 0 + 15 / 2  # items 1, 0, 3
    found = judged_queries.ndcg(grades, np.array([0.8, 0.9, 0.1, 0.5]), 3)
    assert found == pytest.approx(shown / best)
    assert judged_queries.ndcg(grades, grades.astype(np.float64), 3) == 1.0
    assert (
        judged_queries.ndcg(grades, grades.astype(np.float64), 9) == 1.0
    )  # a list of all documents
    assert math.isnan(judged_queries.ndcg(np.zeros(3, np.int64), np.zeros(3), 2))
    good = instance(JUDGED, grades, np.array([[0.1, 0.6, 0.3, 0.9]] * 10))
    nothing = instance(JUDGED, np.zeros(4, np.int64), np.full((10, 4), 0.5))
    text = judged_queries.rankers_quality({"1": good, "2": nothing})
    assert "over 1 queries" in text
    assert "1.000 for their mean score" in text
    assert judged_queries.rankers_quality({"2": nothing}) == ""


def test_what_is_drawn_shares_no_numbers_with_runs() -> None:
    """A model drawn with its users' numbers would not be independent of them."""
    drawn = [drawing(41, what, i, j) for what in DRAWINGS for i in range(3) for j in range(3)]
    runs = [g for i in range(4) for run in range(3) for g in streams(41, i, run)]
    runs += [g for run in range(9) for g in streams(41, run)]
    first = [g.random() for g in (*drawn, *runs)]
    assert len(set(first)) == len(first)


def test_runs_on_a_query_count_as_one() -> None:
    regret = np.arange(12.0).reshape(6, 2)
    result = Result("p", "m", np.array([1, 5]), regret, np.array([0, 1, 2, 3, 4, 6]), 0, 3.0, 8)
    means = by_model(result, runs=2)
    assert means.run_ids.tolist() == [0, 1]  # the third and the fourth have one run each
    assert means.regret.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert (means.wanted, means.interrupted) == (4, True)


def test_scores_are_kept_by_all_that_decides_them() -> None:
    dense = np.random.default_rng(0).random((6, 3))

    def key(columns: list[int], sizes: list[int], rankers: int = 10, sparse: bool = True) -> str:
        matrix = dense[:, columns]
        queries = JudgedQueries(csr_matrix(matrix) if sparse else matrix, [0] * 6, sizes)
        return judged_queries.scores_key(replace(JUDGED, rankers=rankers), queries, queries, 0)

    same = key([0, 1, 2], [3, 3])
    assert same == key([0, 1, 2], [3, 3])
    others = [key([0, 2, 1], [3, 3]), key([0, 1, 2], [2, 4]), key([0, 1, 2], [3, 3], rankers=5)]
    shifted = csr_matrix((dense.ravel(), np.tile([0, 1, 3], 6), np.arange(0, 19, 3)), shape=(6, 4))
    plain = csr_matrix((dense.ravel(), np.tile([0, 1, 2], 6), np.arange(0, 19, 3)), shape=(6, 4))
    for matrix in (shifted, plain):
        queries = JudgedQueries(matrix, [0] * 6, [3, 3])
        others.append(judged_queries.scores_key(JUDGED, queries, queries, 0))
    assert len({same, *others}) == 6


def test_a_grade_without_an_attraction_is_an_error() -> None:
    with pytest.raises(InvalidValue, match="grades must be at most 4, got 5"):
        instance(JUDGED, np.array([0, 5]), np.full((10, 2), 0.3))


def test_the_estimate_multiplies_what_a_round_takes(
    experiments: list[Experiment], tmp_path: Path
) -> None:
    found = estimate(experiments[:1], "paper", tmp_path)
    assert [cost.curve for cost in found.costs] == ["thompson", "misled", "greedy"]
    assert {cost.rounds for cost in found.costs} == {6 * 4 * 200}
    assert all(cost.microseconds > 0 for cost in found.costs)
    total = sum(cost.microseconds * cost.rounds for cost in found.costs) / 3.6e9
    assert found.hours == pytest.approx(total)
    made_up = like_mslr(JUDGED, np.random.default_rng(0), n=3)
    assert {it.model.n_items for it in made_up.values()} == {120}
    assert {it.model.n_positions for it in made_up.values()} == {10}


def write_fold(folder: Path, n_queries: int, seed: int) -> None:
    """Write judged queries as MSLR-WEB30K does: dense features, a trailing space, CRLF."""
    rng = np.random.default_rng(seed)
    for name in ("train", "test"):
        lines = []
        for qid in range(1, n_queries + 1):
            for grade in rng.integers(0, 5, size=9):
                values = [grade + rng.normal(), *rng.normal(size=3)]
                features = " ".join(f"{i}:{v:.4f}" for i, v in enumerate(values, start=1))
                lines.append(f"{grade} qid:{qid} {features} \r\n")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_bytes("".join(lines).encode())


def test_judged_queries_of_a_folder_take_the_place_of_the_example(tmp_path: Path) -> None:
    write_fold(tmp_path / "MSLR" / "Fold1", 20, seed=0)
    (shipped,) = select("004/figure-4-cascade", list_experiments())
    policies = [p for p in shipped.figure.policies if p.name in ("thompson", "ensemble")]
    small = replace(shipped, figure=replace(shipped.figure, policies=policies), claims=[])
    out = tmp_path / "out"
    done = reproduce(
        scale=Scale(horizon=100, runs=2), out=out, experiments=[small], data=tmp_path / "MSLR",
        progress=False,
    )  # fmt: skip
    (outcome,) = done.outcomes
    assert outcome.complete
    assert [str(qid) for qid in range(1, 21)] == list(outcome.evidence.models)
    assert {m.n_positions for m in outcome.evidence.models.values()} == {9}  # all documents
    assert {r.runs for r in outcome.results.values()} == {40}  # two passes over the queries
    assert {r.run_ids.tolist() == list(range(40)) for r in outcome.results.values()} == {True}
    assert outcome.evidence.pass_size == 20
    page = done.report.read_text(encoding="utf-8")
    assert f"--data {tmp_path / 'MSLR'}" in page
    assert f"20 test queries of {tmp_path / 'MSLR'}" in page
    (scores,) = (out / "results").rglob("scores-*.npz")
    kept = scores.stat().st_mtime_ns
    # One feature tells the grade up to noise: the rankers' order must be far better than chance.
    truth = np.concatenate([m.params.attraction for m in outcome.evidence.models.values()])
    with np.load(scores) as file:
        assert file["scores"].shape == (10, 180)
        assert np.corrcoef(file["scores"].mean(axis=0), truth)[0, 1] > 0.5
    judged_queries.cached_instances.cache_clear()
    reproduce(
        scale=Scale(horizon=100, runs=2), out=out, experiments=[small], data=tmp_path / "MSLR",
        progress=False,
    )  # fmt: skip
    assert scores.stat().st_mtime_ns == kept


def test_a_folder_without_judged_queries_is_told(tmp_path: Path) -> None:
    (shipped,) = select("004/figure-4-cascade", list_experiments())
    with pytest.raises(InvalidValue, match=r"--data must be a folder with train.txt and test.txt"):
        reproduce("004/figure-4-cascade", out=tmp_path, experiments=[shipped], data=tmp_path)


def test_without_the_extra_the_rest_is_reproduced(
    experiments: list[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shipped,) = select("004/figure-4-cascade", list_experiments())
    said: list[str] = []
    judged_queries.cached_instances.cache_clear()
    monkeypatch.setitem(sys.modules, "lightgbm", None)  # as if it were not installed
    done = reproduce(
        out=tmp_path / "out", experiments=[experiments[0], shipped], progress=False,
        say=said.append,
    )  # fmt: skip
    assert [o.experiment.figure_id for o in done.outcomes] == ["drawn"]
    (left_out,) = [text for text in said if text.startswith(f"{shipped.name} is skipped: ")]
    assert "needs lightgbm: pip install" in left_out
    with pytest.raises(MissingExtra):
        reproduce("004", out=tmp_path / "out", experiments=[shipped], progress=False)
