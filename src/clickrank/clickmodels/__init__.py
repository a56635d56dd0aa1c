"""Click models: how people click on a ranked list. One file per model."""

from clickrank.clickmodels.assumptions import Finding, check_assumptions
from clickrank.clickmodels.attraction import LinearAttraction
from clickrank.clickmodels.cascade import Cascade
from clickrank.clickmodels.click_matrix import ClickMatrix
from clickrank.clickmodels.click_model import CLICK_MODELS, ClickModel, Kernels, register
from clickrank.clickmodels.dbn import DBN
from clickrank.clickmodels.dcm import DCM
from clickrank.clickmodels.dctr import DCTR
from clickrank.clickmodels.mnl import MNL
from clickrank.clickmodels.pbm import PBM
from clickrank.clickmodels.ubm import UBM

__all__ = [
    "CLICK_MODELS",
    "DBN",
    "DCM",
    "DCTR",
    "MNL",
    "PBM",
    "UBM",
    "Cascade",
    "ClickMatrix",
    "ClickModel",
    "Finding",
    "Kernels",
    "LinearAttraction",
    "check_assumptions",
    "register",
]
