"""Click models of the Yandex experiments, from the published counts and parameters.

    python -m clickrank.experiments.yandex FOLDER

writes the files ``yandex-*.json`` of the data folder again, from ``param_Yandex.txt`` and
``Yandex_filtered_compress.csv`` in FOLDER (both of gaudel/ranking_bandits, MIT licence). The first
ten queries of the former are used: by impressions nine of them are the most frequent nine, and
query 8107157 is the twelfth.

yandex-pbm.json
    The published parameters: the rank-1 SVD of Click/Impression with every pair of item and
    position that was never observed set to 0.5. Attractions above 1 would be cut to 1; the first
    ten queries have none.
yandex-pbm-observed.json
    The maximum likelihood on the pairs that were observed (`fit_pbm_by_em`).
yandex-cascade.json
    Attractions of a cascade from the same counts (`cascade_attraction`).

The last two have the `N_ITEMS` items of a query that were shown most: the others have only a
handful of impressions.

`fit_pbm_by_em` stops when its steps become small, before the maximum is reached. The log-likelihood
is 1.6 below the maximum for query 4605457, whose parameters are far from those of
`clickrank.fit.fit_pbm`, and less than 0.02 below for the others. The experiments were run on these
files, so they are kept.

`published_counts` returns the counts of all 60 queries, for `clickrank.fit`.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clickrank import logs
from clickrank._core.arrays import Floats
from clickrank._core.compressed_files import open_text
from clickrank.experiments.paper_files import DATA
from clickrank.logs.counts import texts

N_QUERIES = 10
N_ITEMS = 20
N_POSITIONS = 10


class QueryCounts(NamedTuple):
    """Displays and clicks of each item of a query at each position: (items, positions)."""

    shown: Floats
    clicked: Floats


class EMFit(NamedTuple):
    """Parameters of the position-based model and their log-likelihood after each step."""

    attraction: Floats
    examination: Floats
    log_likelihood: list[float]


def read_counts(path: Path, queries: list[str]) -> dict[str, QueryCounts]:
    """Read the counts of some queries, for the items shown most, in decreasing order.

    Rows with more clicks than impressions, where people clicked twice, count one click per
    impression.
    """
    found: dict[str, dict[str, Floats]] = {query: {} for query in queries}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["query"] in found:
                items = found[row["query"]]
                cells = items.setdefault(row["url"], np.zeros((2, N_POSITIONS)))
                shown, clicked = int(row["Impression"]), int(row["Click"])
                cells[:, int(row["pos"])] = shown, min(shown, clicked)
    counts = {}
    for query, items in found.items():
        most = sorted(items.values(), key=lambda cells: -cells[0].sum())[:N_ITEMS]
        shown, clicked = np.array(most).swapaxes(0, 1)
        counts[query] = QueryCounts(shown, clicked)
    return counts


def published_counts(*, cut: bool = True) -> logs.Counts:
    """Return the published counts of all 60 queries, with items sorted by number.

    Parameters
    ----------
    cut
        Whether the 38 cells with more clicks than displays, where people clicked twice, count one
        click per display. The published parameters come from the unchanged counts.
    """
    path = DATA / "Yandex_filtered_compress.csv.gz"
    with open_text(path) as file:
        names = ("query", "url", "pos", "Impression", "Click")
        rows = [[int(row[name]) for name in names] for row in csv.DictReader(file)]
    query, item, position, shown, clicked = np.array(sorted(rows), dtype=np.int64).T
    pairs, pair = np.unique(np.stack([query, item], axis=1), axis=0, return_inverse=True)
    queries, pair_query = np.unique(pairs[:, 0], return_inverse=True)
    if cut:
        clicked = np.minimum(clicked, shown)
    return logs.Counts(
        N_POSITIONS,
        texts([str(number) for number in queries]),
        pair_query,
        texts([str(number) for number in pairs[:, 1]]),
        logs.Cells(pair, position, shown, clicked),
        None,
    )


def published_parameters() -> dict[str, dict[str, list[float]]]:
    """Return ``param_Yandex.txt``: thetas and kappas of each query."""
    with open_text(DATA / "param_Yandex.txt.gz") as file:
        found: dict[str, dict[str, list[float]]] = json.load(file)
    return found


def fit_pbm_by_em(counts: QueryCounts, steps: int = 200_000, tolerance: float = 1e-11) -> EMFit:
    """Fit the position-based model to the observed cells by expectation maximisation.

    Cell (i, l) holds clicked[i, l] successes of shown[i, l] trials of probability
    attraction[i] · examination[l]; a cell that was never shown is ignored. No step lowers the
    likelihood. Only products are identified, so the largest examination is set to 1, as in the
    published parameters.

    >>> exact = np.outer([0.8, 0.4, 0.2], [1.0, 0.5])
    >>> fit = fit_pbm_by_em(QueryCounts(np.full((3, 2), 1e3), 1e3 * exact))
    >>> fit.attraction.round(3), fit.examination.round(3)
    (array([0.8, 0.4, 0.2]), array([1. , 0.5]))
    """
    shown, clicked = counts
    missed = shown - clicked
    rates = clicked.sum(axis=1) / shown.sum(axis=1)
    attraction = np.clip(rates, 1e-3, 1 - 1e-3)
    examination = np.full(shown.shape[1], 0.5)
    history = [_log_likelihood(counts, attraction, examination)]
    for _ in range(steps):
        # Without a click, it is unknown whether the position was examined or the item attractive.
        p = np.outer(attraction, examination)
        rest = missed / np.maximum(1.0 - p, 1e-300)
        attracted = clicked + rest * (attraction[:, None] - p)
        examined = clicked + rest * (examination - p)
        attraction = attracted.sum(axis=1) / shown.sum(axis=1)
        examination = examined.sum(axis=0) / shown.sum(axis=0)
        history.append(_log_likelihood(counts, attraction, examination))
        if history[-1] - history[-2] < tolerance * abs(history[-1]):
            break
    largest = examination.max()
    return EMFit(attraction * largest, examination / largest, history)


def _log_likelihood(counts: QueryCounts, attraction: Floats, examination: Floats) -> float:
    shown, clicked = counts
    p = np.outer(attraction, examination)
    seen = shown > 0
    p, hits, misses = p[seen], clicked[seen], (shown - clicked)[seen]
    total = np.where(hits > 0, hits * np.log(np.maximum(p, 1e-300)), 0.0)
    total += np.where(misses > 0, misses * np.log(np.maximum(1.0 - p, 1e-300)), 0.0)
    return float(total.sum())


def cascade_attraction(counts: QueryCounts) -> Floats:
    """Return the approximate maximum-likelihood attractions of a cascade from counts.

    In a cascade, only displays with no click above them count. The counts do not say which these
    were. If clicks at different positions are independent, their share at position l is
    E_l = ∏ (1 − r_j) over the positions j above l, where r_j is the click rate at j (with half a
    click and half a miss added to the counts, because one query has no miss at the top), and

        attraction[i] = Σ_l clicked[i, l] E_l / Σ_l shown[i, l] E_l.

    >>> cascade_attraction(
    ...     QueryCounts(np.array([[8.0, 0.0], [0.0, 8.0]]), np.array([[4.0, 0], [0, 2]]))
    ... )
    array([0.5 , 0.25])
    """
    shown, clicked = counts
    rates = (clicked.sum(axis=0) + 0.5) / (shown.sum(axis=0) + 1.0)
    reached = np.cumprod(np.append(1.0, 1.0 - rates[:-1]))
    found: Floats = (clicked @ reached) / (shown @ reached)
    return found


def write_model_files(folder: Path, out: Path = DATA) -> None:
    """Write all files ``yandex-*.json``."""
    published = json.loads((folder / "param_Yandex.txt").read_text(encoding="utf-8"))
    queries = list(published)[:N_QUERIES]
    counts = read_counts(folder / "Yandex_filtered_compress.csv", queries)
    files: dict[str, dict[str, dict[str, list[float]]]] = {
        "yandex-pbm": {}, "yandex-pbm-observed": {}, "yandex-cascade": {}
    }  # fmt: skip
    for query in queries:
        label = f"query-{query}"
        thetas = np.minimum(published[query]["thetas"], 1.0).tolist()
        kappas = published[query]["kappas"]
        fit = fit_pbm_by_em(counts[query])
        attraction = cascade_attraction(counts[query]).tolist()
        files["yandex-pbm"][label] = {"attraction": thetas, "examination": kappas}
        files["yandex-pbm-observed"][label] = {
            "attraction": fit.attraction.tolist(),
            "examination": fit.examination.tolist(),
        }
        files["yandex-cascade"][label] = {"attraction": attraction}
    for name, table in files.items():
        (out / f"{name}.json").write_text(compact_json(table), encoding="utf-8")


def compact_json(table: dict[str, dict[str, list[float]]]) -> str:
    """Return JSON with one vector per line."""
    queries = []
    for label, vectors in table.items():
        lines = ",\n".join(f'    "{key}": {json.dumps(v)}' for key, v in vectors.items())
        queries.append(f'  "{label}": {{\n{lines}\n  }}')
    return "{\n" + ",\n".join(queries) + "\n}\n"


if __name__ == "__main__":
    write_model_files(Path(sys.argv[1]))
