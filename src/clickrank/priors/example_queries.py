"""Example queries: a small collection of judged queries that is part of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clickrank.errors import invalid
from clickrank.priors.judgements import JudgedQueries
from clickrank.priors.letor import load_letor

_DATA = Path(__file__).parent / "data"
_N_FEATURES = 300


def load_example(part: Literal["train", "test"]) -> JudgedQueries:
    """Return the training or the test queries of LightGBM's learning-to-rank example.

    There are 201 and 50 queries with 1 to 27 documents, which have grades from 0 to 4 and 300
    sparse features.

    >>> load_example("test")
    <JudgedQueries: 50 queries, 768 documents, 300 sparse features>
    """
    if part not in ("train", "test"):
        raise invalid("load_example", 'part must be "train" or "test"', part)
    stem = _DATA / f"ltr-lightgbm-example-{part}"
    return load_letor(f"{stem}.txt.bz2", query_sizes=f"{stem}.query", n_features=_N_FEATURES)
