"""Estimates of click models from counted clicks."""

from clickrank.fit.mnl import MNLFit, mnl_em, mnl_geometric
from clickrank.fit.pbm import PBMFit, pbm_fit

__all__ = ["MNLFit", "PBMFit", "mnl_em", "mnl_geometric", "pbm_fit"]
