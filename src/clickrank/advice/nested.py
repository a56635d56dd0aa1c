"""Whether a simple click model may stand for a richer one that has it as a special case.

Lists held out tell models apart by what they foretell, which in a small log is little. Where one
model is a special case of another, the parameters that the other has more say it directly.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.special import ndtri

from clickrank.advice.limits import always_one_order
from clickrank.advice.scores import LEVEL, fitted
from clickrank.fit import DBNFit, DCMFit, PBMFit, UBMFit
from clickrank.logs import Counts
from clickrank.types import Floats

#: Models, and those that have them as a special case.
RICHER = {"dctr": ("pbm",), "pbm": ("ubm",), "cascade": ("dcm", "dbn")}


def ruled_out(names: Collection[str], counts: Counts) -> dict[str, str]:
    """Return which of these models the whole log excludes, with the richer one that says so.

    All intervals of the parameters that the richer one has more hold together with 95 %
    (Bonferroni); the simple model is excluded if one of them does not hold the value it has there.
    """
    found: dict[str, str] = {}
    if always_one_order(counts):  # nothing was seen that the richer could tell
        return found
    for name in names:
        for rich in RICHER.get(name, ()):
            if rich in names and name not in found and _differs(rich, counts):
                found[name] = rich
    return found


def _differs(rich: str, counts: Counts) -> bool:
    fit = fitted(rich, counts)
    if isinstance(fit, PBMFit):
        # The largest examination is 1, whichever it is: every two positions are compared.
        n = fit.examination.size
        return _far(1.0 - fit.examination, fit.examination_error, n * (n - 1) // 2)
    if isinstance(fit, UBMFit):  # after a click as after none, at each position
        row, last = np.tril_indices(fit.examination_after.shape[0], -1)
        gap = fit.examination_after[row, last + 1] - fit.examination_after[row, 0]
        errors = fit.examination_after_error
        return _far(gap, np.hypot(errors[row, last + 1], errors[row, 0]), gap.size)
    if isinstance(fit, DCMFit):
        return _far(1.0 - fit.satisfaction, fit.satisfaction_error, fit.satisfaction.size)
    assert isinstance(fit, DBNFit)
    gaps = np.append(1.0 - fit.satisfaction, 1.0 - fit.continuation)
    errors = np.append(fit.satisfaction_error, fit.continuation_error)
    return _far(gaps, errors, gaps.size)


def _far(gaps: Floats, errors: Floats, comparisons: int) -> bool:
    """Return whether a difference is more than chance; one of error 0 is so by definition."""
    z = float(ndtri(1.0 - (1.0 - LEVEL) / 2 / max(comparisons, 1)))
    told = np.isfinite(errors) & (errors > 0.0)
    return bool((np.abs(gaps[told]) > z * errors[told]).any())
