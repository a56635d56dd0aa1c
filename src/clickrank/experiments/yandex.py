"""Click models of the Yandex experiments, from the published counts and parameters.

    python -m clickrank.experiments.yandex FOLDER

writes the files ``yandex-*.json`` into FOLDER, from ``param_Yandex.txt`` and
``Yandex_filtered_compress.csv`` of the data folder (both of gaudel/ranking_bandits, MIT licence).
The first ten queries of the former are used: by impressions nine of them are the most frequent
nine, and query 8107157 is the twelfth.

yandex-pbm.json
    The published parameters: the rank-1 SVD of Click/Impression with every pair of item and
    position that was never observed set to 0.5. Attractions above 1 would be cut to 1; the first
    ten queries have none.
yandex-pbm-observed.json
    The position-based model on the pairs that were observed (`fit_observed`).
yandex-cascade.json
    Attractions of a cascade from the same counts (`cascade_attraction`).

The last two have the `N_ITEMS` items of a query that were shown most: the others have only a
handful of impressions.

The files of the data folder are kept as they are, because the experiments were run on them. Their
observed models come from expectation maximisation that stops when its steps become small, before
the maximum is reached. The log-likelihood is 1.6 below the maximum for query 4605457, where 200,000
steps did not suffice and parameters are far from those of Newton's method, and less than 0.02 below
for the others. `fit_observed` takes the same steps, and returns the same click probabilities of
observed pairs. In query 5681275 no item links the first two positions to the others, so that the
ratio between the two groups is arbitrary: there the file has another ratio than `fit_observed`.

`published_counts` returns the counts of all 60 queries, for `clickrank.fit`.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import sys
from pathlib import Path
from typing import TypeAlias

import numpy as np

from clickrank import logs
from clickrank._core.arrays import Floats
from clickrank._core.compressed_files import open_text
from clickrank.experiments.paper_files import DATA
from clickrank.fit import PBMFit, fit_pbm
from clickrank.logs.counts import texts

N_QUERIES = 10
N_ITEMS = 20
N_POSITIONS = 10
#: Expectation maximisation ends when a step gains less than this share of the log-likelihood.
LEAST_GAIN = 1e-11
#: The most steps of expectation maximisation.
STEPS = 200_000

#: The vectors of parameters of each query.
ModelTable: TypeAlias = dict[str, dict[str, list[float]]]


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


def published_parameters() -> ModelTable:
    """Return ``param_Yandex.txt``: thetas and kappas of each query."""
    with open_text(DATA / "param_Yandex.txt.gz") as file:
        found: ModelTable = json.load(file)
    return found


def most_shown(counts: logs.Counts, n_items: int = N_ITEMS) -> logs.Counts:
    """Return the counts of the items of a query that were shown most, in decreasing order."""
    cells = counts.cells
    views = np.bincount(cells.pair, cells.shown, counts.n_pairs)
    kept = np.argsort(-views, kind="stable")[:n_items]
    number = np.full(counts.n_pairs, kept.size)
    number[kept] = np.arange(kept.size)
    pair = number[cells.pair]
    rows = np.lexsort((cells.position, pair))[: int((pair < kept.size).sum())]
    return dataclasses.replace(
        counts,
        pair_query=counts.pair_query[kept],
        pair_item=counts.pair_item[kept],
        cells=logs.Cells(pair[rows], cells.position[rows], cells.shown[rows], cells.clicked[rows]),
    )


def fit_observed(counts: logs.Counts) -> PBMFit:
    """Fit the position-based model to observed cells, by the steps of which the files were made."""
    least = LEAST_GAIN * abs(fit_pbm(counts).log_likelihood)
    return fit_pbm(counts, solver="em", tolerance=least, steps=STEPS)


def cascade_attraction(counts: logs.Counts) -> Floats:
    """Return the approximate maximum-likelihood attractions of a cascade from counts.

    In a cascade, only displays with no click above them count. The counts do not say which these
    were. If clicks at different positions are independent, their share at position l is
    E_l = ∏ (1 − r_j) over the positions j above l, where r_j is the click rate at j (with half a
    click and half a miss added to the counts, because one query has no miss at the top), and

        attraction[i] = Σ_l clicked[i, l] E_l / Σ_l shown[i, l] E_l.

    >>> counts = logs.Counts.of_lists([[0, 1]] * 8, [[1, 1]] * 2 + [[1, 0]] * 2 + [[0, 0]] * 4)
    >>> cascade_attraction(counts)
    array([0.5 , 0.25])
    """
    cells, n = counts.cells, counts.n_positions
    clicked = np.bincount(cells.position, cells.clicked, n)
    shown = np.bincount(cells.position, cells.shown, n)
    rates = (clicked + 0.5) / (shown + 1.0)
    reached = np.cumprod(np.append(1.0, 1.0 - rates[:-1]))[cells.position]
    hits = np.bincount(cells.pair, cells.clicked * reached, counts.n_pairs)
    found: Floats = hits / np.bincount(cells.pair, cells.shown * reached, counts.n_pairs)
    return found


def write_model_files(folder: Path) -> None:
    """Write all files ``yandex-*.json`` into a folder."""
    published, counts = published_parameters(), published_counts()
    files: dict[str, ModelTable] = {
        "yandex-pbm": {},
        "yandex-pbm-observed": {},
        "yandex-cascade": {},
    }
    for query in list(published)[:N_QUERIES]:
        label, shown = f"query-{query}", most_shown(counts.of_query(query))
        thetas = np.minimum(published[query]["thetas"], 1.0).tolist()
        observed = fit_observed(shown)
        files["yandex-pbm"][label] = {
            "attraction": thetas,
            "examination": published[query]["kappas"],
        }
        files["yandex-pbm-observed"][label] = {
            "attraction": observed.attraction.tolist(),
            "examination": observed.examination.tolist(),
        }
        files["yandex-cascade"][label] = {"attraction": cascade_attraction(shown).tolist()}
    for name, table in files.items():
        (folder / f"{name}.json").write_text(compact_json(table), encoding="utf-8")


def compact_json(table: ModelTable) -> str:
    """Return JSON with one vector per line."""
    queries = []
    for label, vectors in table.items():
        lines = ",\n".join(f'    "{key}": {json.dumps(v)}' for key, v in vectors.items())
        queries.append(f'  "{label}": {{\n{lines}\n  }}')
    return "{\n" + ",\n".join(queries) + "\n}\n"


if __name__ == "__main__":
    write_model_files(Path(sys.argv[1]))
