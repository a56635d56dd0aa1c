"""Rows of text files and rows of Parquet files are checked by the same rules."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clickrank.logs import open_log
from clickrank.logs.row_rules import check_rows
from tests.logs.test_logs import spelled

NAMES = ("impression_id", "query", "position", "item", "click", "propensity")
COUNTED = ("query", "position", "item", "shown", "clicked")

LISTS = [
    ("1", "q", 0, "a", 1, 0.5),
    ("1", "q", 1, "b", 0, 0.5),
    ("2", "q", 0, "a", 2, 1.5),  # several clicks, and no probability
    ("3", "q", 0, "", -1, 0.5),  # no item, and clicks below 0
    (None, "q", -1, "a", 0, 0.5),  # no id, and a position before the first
    ("4", "q", None, None, 0, 0.5),  # neither a position nor an item
    ("5", "q", 0, "a", -1, 7.0),  # clicks below 0, and no probability
    ("6", "q", 0, "a", 0, None),
    ("7", "q", 999, "a", 0, 0.5),  # the last position that there can be
    ("8", "q", 1000, "a", 0, 0.5),
]
COUNTS = [
    ("q", 1, "a", 5, 2),
    ("q", 1, "b", 2, 3),  # more clicks than displays
    ("q", 1, "c", 0, -1),  # no displays, and clicks below 0
    ("q", 1000, "a", 1, 0),
    ("q", 1001, "a", 0, 0),
    ("q", 1, "d", 3, None),
]


def found(path: Path) -> tuple[dict[str, int], Any]:
    with open_log(path) as log:
        counts = log.counts(with_lists=False)
        problems = {kind: problem.count for kind, problem in log.report.problems.items()}
        return problems, spelled(counts)


@pytest.mark.parametrize(
    ("names", "rows", "problems"),
    [
        (
            NAMES,
            LISTS,
            {"number": 1, "id": 2, "position": 1, "click": 1, "several clicks": 1, "propensity": 1},
        ),
        (COUNTED, COUNTS, {"number": 1, "position": 1, "shown": 1, "clicks above displays": 1}),
    ],
)
def test_text_and_parquet_have_the_same_problems(
    names: tuple[str, ...], rows: list[tuple[Any, ...]], problems: dict[str, int], tmp_path: Path
) -> None:
    text, parquet = tmp_path / "log.csv", tmp_path / "log.parquet"
    with text.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows])
    pq.write_table(
        pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows]), parquet
    )
    assert found(text)[0] == problems
    assert found(text) == found(parquet)


def test_a_row_is_counted_once() -> None:
    zeros = np.zeros(3, dtype=bool)
    verdict = check_rows(
        {"position": np.array([0, 5, 1]), "click": np.array([-1, 0, 3])},
        {"position": zeros, "click": zeros, "item": np.array([False, True, False])},
        first_position=1,
        largest_position=4,
    )
    assert {kind: mask.tolist() for kind, mask in verdict.refused.items() if mask.any()} == {
        "id": [False, True, False],
        "position": [True, False, False],
    }
    assert verdict.corrected["several clicks"].tolist() == [False, False, True]
    assert verdict.is_refused.tolist() == [True, True, False]
