"""Tests of nested click models: whether the whole log rules out a special case of a richer model.

Held-out lists compare models by their predictions, which differ little in a small log. Where one
model is a special case of another, the additional parameters of the richer one are a direct test.
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
    """Return the models that the whole log rules out, each with the richer model that shows it.

    The intervals of the richer model's additional parameters hold simultaneously at 95 %
    (Bonferroni). The simple model is ruled out if one of them excludes its fixed value.
    """
    found: dict[str, str] = {}
    if always_one_order(counts):  # the additional parameters are not identified
        return found
    for name in names:
        for rich in sorted(names, key=simplicity):
            contains = rich in CLICK_MODELS and name in CLICK_MODELS[rich].excludes
            if contains and name not in found and _differs(rich, counts):
                found[name] = rich
    return found


def _differs(rich: str, counts: Counts) -> bool:
    """Return whether a model's additional parameters differ from those of its special case."""
    more = fitted(rich, counts).beyond()
    assert more is not None, rich
    return _far(*more)


def _far(gaps: Floats, errors: Floats, comparisons: int) -> bool:
    """Return whether a difference is significant; those with standard error 0 are left out."""
    z = normal_quantile(LEVEL, comparisons)
    told = np.isfinite(errors) & (errors > 0.0)
    return bool((np.abs(gaps[told]) > z * errors[told]).any())
