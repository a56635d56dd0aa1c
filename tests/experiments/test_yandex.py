"""The click models of the Yandex experiments: their files come from the published counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from clickrank import fit
from clickrank.experiments.paper_files import DATA, PAPERS
from clickrank.experiments.yandex import (
    cascade_attraction,
    compact_json,
    fit_observed,
    most_shown,
    published_counts,
    published_parameters,
    write_model_files,
)
from clickrank.fit.fitted_model import likelihood_of_rates
from clickrank.logs import Cells, Counts
from clickrank.logs.counts import texts
from tests.paths import DOCS

#: The query on which expectation maximisation uses up its steps.
LONG = "query-4605457"
FILES = ("yandex-pbm", "yandex-pbm-observed", "yandex-cascade")


def shipped(name: str) -> dict[str, dict[str, list[float]]]:
    """Return the click models of a file of the data folder."""
    found: dict[str, dict[str, list[float]]] = json.loads((DATA / f"{name}.json").read_text())
    return found


def of_cells(shown: list[list[int]], clicked: list[list[int]]) -> Counts:
    """Return the counts of one query without lists."""
    views, clicks = np.array(shown), np.array(clicked)
    pair, position = np.nonzero(views)
    cells = Cells(pair, position, views[pair, position], clicks[pair, position])
    items = texts([f"item {i}" for i in range(len(shown))])
    query = np.zeros(len(shown), dtype=np.int64)
    return Counts(len(shown[0]), texts(["q"]), query, items, cells, None)


def test_cascade_attractions_weigh_looks_by_the_chance_of_no_click_above() -> None:
    counts = of_cells([[10, 0], [0, 10], [10, 10]], [[5, 0], [0, 2], [5, 1]])
    reached = 1 - 10.5 / 21  # half a click and half a miss more than the 10 of 20 counted
    expected = [0.5, 0.2, (5 + reached) / (10 + 10 * reached)]
    assert cascade_attraction(counts) == pytest.approx(expected)


def test_the_items_shown_most_are_kept_in_decreasing_order() -> None:
    counts = most_shown(
        of_cells([[1, 0], [4, 5], [0, 2], [3, 3]], [[1, 0], [2, 3], [0, 1], [0, 2]]), 3
    )
    assert counts.pair_item.tolist() == ["item 1", "item 3", "item 2"]
    assert counts.pair_query.tolist() == [0, 0, 0]
    cells = counts.cells
    assert cells.pair.tolist() == [0, 0, 1, 1, 2]
    assert cells.position.tolist() == [0, 1, 0, 1, 1]
    assert cells.shown.tolist() == [4, 5, 3, 3, 2]
    assert cells.clicked.tolist() == [2, 3, 0, 2, 1]


@pytest.mark.proof  # the 200,000 steps on one query take minutes
def test_the_shipped_files_are_written_again(tmp_path: Path) -> None:
    write_model_files(tmp_path)
    written = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in FILES}
    assert written["yandex-pbm"] == shipped("yandex-pbm")
    for label, table in shipped("yandex-cascade").items():
        found = written["yandex-cascade"][label]["attraction"]
        assert found == pytest.approx(table["attraction"], rel=1e-12)
    for label, table in written["yandex-pbm-observed"].items():
        assert_is_shipped(label, table)


@pytest.mark.parametrize(
    "label", [label for label in shipped("yandex-pbm-observed") if label != LONG]
)
def test_the_shipped_fits_are_made_again(label: str) -> None:
    found = fit_observed(most_shown(published_counts().of_query(label.removeprefix("query-"))))
    model = found.model()
    table = {"attraction": model.attraction.tolist(), "examination": model.examination.tolist()}
    assert_is_shipped(label, table)


def assert_is_shipped(label: str, table: dict[str, list[float]]) -> None:
    """Compare a fit with the shipped one.

    Bits of sums may differ, and with them the step after which EM stops. A step then moves no
    parameter by more than 1e-6, so that 1e-5 allows for ten of them.
    """
    expected = shipped("yandex-pbm-observed")[label]
    cells = most_shown(published_counts().of_query(label.removeprefix("query-"))).cells
    rates = [
        np.outer(each["attraction"], each["examination"])[cells.pair, cells.position]
        for each in (table, expected)
    ]
    assert rates[0] == pytest.approx(rates[1], abs=1e-5, rel=0)
    if label != "query-5681275":  # where two groups of positions cannot be compared
        for field, values in expected.items():
            assert table[field] == pytest.approx(values, abs=1e-5, rel=0)


def test_the_shipped_fits_are_below_the_maximum_as_said() -> None:
    """The docstring of the module gives both numbers."""
    counts = published_counts()
    gaps = {}
    for label, table in shipped("yandex-pbm-observed").items():
        best = fit.fit_pbm(most_shown(counts.of_query(label.removeprefix("query-"))))
        cells = best.counts.cells
        rates = np.outer(table["attraction"], table["examination"])[cells.pair, cells.position]
        value = likelihood_of_rates(cells.clicked, cells.shown - cells.clicked, rates)
        assert best.converged
        gaps[label] = best.log_likelihood - value
    assert round(gaps.pop(LONG), 1) == 1.6
    assert min(gaps.values()) > 0.0
    assert max(gaps.values()) < 0.02


@pytest.mark.parametrize("name", FILES)
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
    """Counts cut to one click per display would not give them."""
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
