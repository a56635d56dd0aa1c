"""The click models of the Yandex experiments: fits that recover what made the counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from clickrank import fit
from clickrank.experiments.paper_files import DATA, PAPERS
from clickrank.experiments.yandex import (
    QueryCounts,
    cascade_attraction,
    compact_json,
    fit_pbm_by_em,
    published_counts,
    published_parameters,
    read_counts,
    write_model_files,
)
from tests.paths import DOCS

THETA = np.array([0.9, 0.5, 0.3, 0.1])
KAPPA = np.array([1.0, 0.6, 0.2])


def test_the_fit_is_exact_on_exact_counts_with_cells_never_shown() -> None:
    shown = np.array([[500, 0, 10], [500, 200, 0], [0, 300, 100], [0, 0, 900.0]])
    fit = fit_pbm_by_em(QueryCounts(shown, shown * np.outer(THETA, KAPPA)))
    assert fit.attraction == pytest.approx(THETA, rel=1e-3)
    assert fit.examination == pytest.approx(KAPPA, rel=1e-3)


def test_no_step_lowers_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        shown = rng.integers(0, 50, (6, 4)) + np.eye(6, 4)  # no item and no position without a look
        shown[4:, 0] += 1
        clicked = rng.binomial(shown.astype(int), rng.random((6, 4))).astype(float)
        steps = np.diff(fit_pbm_by_em(QueryCounts(shown, clicked), steps=300).log_likelihood)
        assert (steps >= -1e-9).all()


def test_the_fit_recovers_parameters_within_sampling_error() -> None:
    """With 20,000 displays per cell the estimates' standard errors are below 0.01."""
    rng = np.random.default_rng(1)
    shown = np.full((4, 3), 20_000)
    clicked = rng.binomial(shown, np.outer(THETA, KAPPA))
    fit = fit_pbm_by_em(QueryCounts(shown.astype(float), clicked.astype(float)))
    assert np.abs(fit.attraction - THETA).max() < 0.03
    assert np.abs(fit.examination - KAPPA).max() < 0.03
    assert fit.examination.max() == 1.0
    assert fit.attraction.max() <= 1.0


def test_the_fit_is_no_worse_than_the_truth_and_its_neighbours() -> None:
    rng = np.random.default_rng(2)
    shown = rng.integers(10, 2000, (4, 3)).astype(float)
    clicked = rng.binomial(shown.astype(int), np.outer(THETA, KAPPA)).astype(float)
    fit = fit_pbm_by_em(QueryCounts(shown, clicked))

    def likelihood(p: np.ndarray) -> float:
        return float((clicked * np.log(p) + (shown - clicked) * np.log1p(-p)).sum())

    found = likelihood(np.outer(fit.attraction, fit.examination))
    assert found == pytest.approx(fit.log_likelihood[-1])
    assert found >= likelihood(np.outer(THETA, KAPPA))
    for _ in range(200):
        theta = fit.attraction * np.exp(0.02 * rng.standard_normal(4))
        kappa = fit.examination * np.exp(0.02 * rng.standard_normal(3))
        assert found >= likelihood(np.outer(theta, kappa)) - 1e-6


def test_cascade_attractions_weigh_looks_by_the_chance_of_no_click_above() -> None:
    shown = np.array([[10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    clicked = np.array([[5.0, 0.0], [0.0, 2.0], [5.0, 1.0]])
    reached = 1 - 10.5 / 21  # half a click and half a miss more than the 10 of 20 counted
    expected = [0.5, 0.2, (5 + reached) / (10 + 10 * reached)]
    assert cascade_attraction(QueryCounts(shown, clicked)) == pytest.approx(expected)


def test_counts_are_read_clipped_and_the_items_shown_most(tmp_path: Path) -> None:
    lines = [",dict_index,pos,Impression,Click,query,url"]
    lines += [f"0,x,{i % 10},{i + 1},{99 if i == 24 else 0},7,{i}" for i in range(25)]
    lines += ["0,x,9,50,4,7,24", "0,x,0,5,1,8,1"]
    path = tmp_path / "counts.csv"
    path.write_text("\n".join(lines))
    (counts,) = read_counts(path, ["7"]).values()
    assert counts.shown.shape == (20, 10)
    assert counts.shown.sum(axis=1).tolist() == [75, *range(24, 5, -1)]
    assert counts.clicked[0].tolist() == [0, 0, 0, 0, 25, 0, 0, 0, 0, 4]  # 99 clicks of 25 looks


def test_all_files_are_written(tmp_path: Path) -> None:
    rows = [
        f"0,x,{p},{10 + i},{i % 3},{q},{i}" for q in (1, 2) for i in range(3) for p in range(10)
    ]
    head = ",dict_index,pos,Impression,Click,query,url"
    (tmp_path / "Yandex_filtered_compress.csv").write_text("\n".join([head, *rows]))
    tables = {q: {"thetas": [0.5, 1.5, 0.1], "kappas": [1.0] * 10} for q in ("2", "1")}
    (tmp_path / "param_Yandex.txt").write_text(json.dumps(tables))
    write_model_files(tmp_path, tmp_path)
    published = json.loads((tmp_path / "yandex-pbm.json").read_text())
    assert list(published) == ["query-2", "query-1"]
    assert published["query-1"]["attraction"] == [0.5, 1.0, 0.1]
    for name in ("yandex-pbm-observed", "yandex-cascade"):
        assert (
            len(json.loads((tmp_path / f"{name}.json").read_text())["query-2"]["attraction"]) == 3
        )


@pytest.mark.parametrize("name", ["yandex-pbm", "yandex-pbm-observed", "yandex-cascade"])
def test_the_shipped_files_are_ten_queries_of_probabilities(name: str) -> None:
    text = (DATA / f"{name}.json").read_text()
    tables = json.loads(text)
    assert compact_json(tables) == text
    assert len(tables) == 10
    for table in tables.values():
        assert len(table["attraction"]) >= 20
        assert all(0 <= p <= 1 for values in table.values() for p in values)
        assert "examination" not in table or max(table["examination"]) == 1.0


def test_the_published_parameters_are_reproduced_in_all_queries() -> None:
    """Theirs came from an approximate SVD: ours differ by 1.1e-5 at most, where theta is 2.5."""
    found, published = fit.fit_pbm_svd(published_counts(cut=False)), published_parameters()
    assert set(found.counts.queries) == set(published)
    for number, query in enumerate(found.counts.queries):
        thetas = found.attraction[found.counts.pair_query == number]
        assert thetas == pytest.approx(published[query]["thetas"], abs=1e-4, rel=0)
        assert found.examination[number] == pytest.approx(
            published[query]["kappas"], abs=1e-4, rel=0
        )


def test_published_examination_is_divided_by_its_largest_entry() -> None:
    """The text divides by the first; in all ten queries of the experiments these are the same."""
    published = published_parameters()
    largest = {query: int(np.argmax(table["kappas"])) for query, table in published.items()}
    assert all(max(table["kappas"]) == 1.0 for table in published.values())
    assert sum(place != 0 for place in largest.values()) == 6
    used = json.loads((DATA / "yandex-pbm.json").read_text())
    assert all(largest[label.removeprefix("query-")] == 0 for label in used)


def test_the_tenth_query_is_the_twelfth_most_frequent() -> None:
    """What the differences of the experiments say: the others are the nine most frequent."""
    counts = published_counts(cut=False)
    shown = np.bincount(counts.pair_query[counts.cells.pair], weights=counts.cells.shown)
    frequent = [f"query-{counts.queries[number]}" for number in np.argsort(-shown)]
    used = list(json.loads((DATA / "yandex-pbm.json").read_text()))
    assert used == [*frequent[:9], frequent[11]]
    text = (PAPERS / "gauthier-2022" / "settings.toml").read_text(encoding="utf-8")
    assert text.count("query 8107157 is the twelfth") == 10


def test_the_range_of_cascade_attractions_is_as_said() -> None:
    """The same file has two ranges: that of all items, which the claim is about, and of ten."""
    tables = json.loads((DATA / "yandex-cascade.json").read_text()).values()
    smallest = min(min(table["attraction"]) for table in tables)
    kept = min(sorted(table["attraction"])[-10] for table in tables)
    text = (PAPERS / "gauthier-2022" / "settings.toml").read_text(encoding="utf-8")
    assert f"range from {smallest:.4f} to 1.0" in text
    assert f"with attractions from {kept:.4f}" in text


def test_rates_above_one_are_in_the_published_parameters() -> None:
    """Cut to one, as `fit_pbm_by_em` wants them, they would not give them."""
    found, published = fit.fit_pbm_svd(published_counts()), published_parameters()
    off = np.array(
        [
            np.abs(found.examination[number] - published[query]["kappas"]).max()
            for number, query in enumerate(found.counts.queries)
        ]
    )
    raw = published_counts(cut=False)
    above = raw.cells.clicked > raw.cells.shown
    concerned = np.unique(raw.pair_query[raw.cells.pair[above]])
    assert above.sum() == 38
    assert (off > 1e-4).nonzero()[0].tolist() == concerned.tolist()


def test_the_fit_of_observed_cells_is_far_more_likely() -> None:
    """The numbers of docs/howto/fit.md."""
    counts = published_counts()
    svd = fit.fit_pbm_svd(published_counts(cut=False))
    alone = sum(fit.fit_pbm(counts.of_query(query)).log_likelihood for query in counts.queries)
    shared, rates = fit.fit_pbm(counts), fit.fit_dctr(counts)
    assert shared.converged
    page = (DOCS / "howto" / "fit.md").read_text()
    for value in (svd.log_likelihood, rates.log_likelihood, shared.log_likelihood, alone):
        assert f"{value:,.0f}".replace("-", "−") in page
    line = " · ".join(f"{value:.2f}" for value in shared.examination)
    assert line in page
    first = counts.queries.tolist().index("4102451")
    assert " · ".join(f"{value:.2f}" for value in svd.examination[first]) in page
    assert (
        " · ".join(f"{v:.2f}" for v in fit.fit_pbm(counts.of_query("4102451")).examination) in page
    )
