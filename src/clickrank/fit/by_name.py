"""`fit`: fits a click model by its name, and `FITS`, the fit of each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clickrank.errors import unknown
from clickrank.fit.cascade import fit_cascade
from clickrank.fit.click_matrix import fit_click_matrix
from clickrank.fit.dbn import fit_dbn
from clickrank.fit.dcm import fit_dcm
from clickrank.fit.dctr import fit_dctr
from clickrank.fit.fitted_model import Fit
from clickrank.fit.mnl import fit_mnl
from clickrank.fit.pbm import fit_pbm
from clickrank.fit.ubm import fit_ubm
from clickrank.logs import Counts

#: The fit of each click model, by the model's name.
FITS: dict[str, Callable[..., Fit]] = {
    "cascade": fit_cascade,
    "click-matrix": fit_click_matrix,
    "dbn": fit_dbn,
    "dcm": fit_dcm,
    "dctr": fit_dctr,
    "mnl": fit_mnl,
    "pbm": fit_pbm,
    "ubm": fit_ubm,
}


def fit(name: str, counts: Counts, **options: Any) -> Fit:
    """Fit the click model of this name to a log.

    Parameters
    ----------
    name
        One of `FITS`.
    counts
        The log.
    options
        Keyword arguments of the fit of that name. All fits take ``shrinkage``.

    Examples
    --------
    >>> counts = Counts.of_lists([[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 0]])
    >>> fit("dctr", counts).model()
    DCTR(n_items=2, n_positions=2)
    """
    if name not in FITS:
        raise unknown("fit", name, FITS)
    return FITS[name](counts, **options)
