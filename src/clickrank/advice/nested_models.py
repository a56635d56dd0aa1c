"""Whether a simple click model may stand for a richer one that has it as a special case.

Lists held out tell models apart by what they foretell, which in a small log is little. Where one
model is a special case of another, the parameters that the other has more say it directly.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.advice.held_out_scores import LEVEL, fitted, simplicity
from clickrank.advice.identifiability import always_one_order
from clickrank.clickmodels import CLICK_MODELS
from clickrank.logs import Counts
from clickrank.stats.intervals import normal_quantile


def ruled_out(names: Collection[str], counts: Counts) -> dict[str, str]:
    """Return which of these models the whole log excludes, with the richer one that says so.

    All intervals of the parameters that the richer one has more hold together with 95 %
    (Bonferroni); the simple model is excluded if one of them does not hold the value it has there.
    """
    found: dict[str, str] = {}
    if always_one_order(counts):  # nothing was seen that the richer could tell
        return found
    for name in names:
        for rich in sorted(names, key=simplicity):
            contains = rich in CLICK_MODELS and name in CLICK_MODELS[rich].excludes
            if contains and name not in found and _differs(rich, counts):
                found[name] = rich
    return found


def _differs(rich: str, counts: Counts) -> bool:
    """Return whether the parameters that a model has more are not those of its special case."""
    more = fitted(rich, counts).beyond()
    assert more is not None, rich
    return _far(*more)


def _far(gaps: Floats, errors: Floats, comparisons: int) -> bool:
    """Return whether a difference is more than chance; one of error 0 is so by definition."""
    z = normal_quantile(LEVEL, comparisons)
    told = np.isfinite(errors) & (errors > 0.0)
    return bool((np.abs(gaps[told]) > z * errors[told]).any())
