"""Fits of click models to the counts of a log.

`fit` fits any click model of the simulator to a log, by its name. All fits take the counts and
``shrinkage``: a number of looks to add to each pair, clicked at the rate of the typical pair. The
default is 0, which is the maximum of the likelihood. With about 1, a pair that was shown once and
clicked is not estimated as one that everybody likes. The shrinkage has the same weight in a model
and in its special cases.
"""

from clickrank.fit.by_name import FITS, fit
from clickrank.fit.cascade import CascadeFit, fit_cascade
from clickrank.fit.click_matrix import ClickMatrixFit, fit_click_matrix
from clickrank.fit.dbn import DBNFit, fit_dbn
from clickrank.fit.dcm import DCMFit, fit_dcm
from clickrank.fit.dctr import DCTRFit, fit_dctr
from clickrank.fit.fitted_model import Fit
from clickrank.fit.mnl import MNLFit, fit_mnl
from clickrank.fit.mnl_epochs import MNLEpochFit, mnl_composite, mnl_em
from clickrank.fit.pbm import PBMFit, fit_pbm
from clickrank.fit.pbm_page import PBMPageFit, fit_pbm_page
from clickrank.fit.pbm_svd import PBMSVDFit, fit_pbm_svd
from clickrank.fit.ubm import UBMFit, fit_ubm

__all__ = [
    "FITS",
    "CascadeFit",
    "ClickMatrixFit",
    "DBNFit",
    "DCMFit",
    "DCTRFit",
    "Fit",
    "MNLEpochFit",
    "MNLFit",
    "PBMFit",
    "PBMPageFit",
    "PBMSVDFit",
    "UBMFit",
    "fit",
    "fit_cascade",
    "fit_click_matrix",
    "fit_dbn",
    "fit_dcm",
    "fit_dctr",
    "fit_mnl",
    "fit_pbm",
    "fit_pbm_page",
    "fit_pbm_svd",
    "fit_ubm",
    "mnl_composite",
    "mnl_em",
]
