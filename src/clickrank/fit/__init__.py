"""Estimates of click models from counted clicks."""

from clickrank.fit.mnl import MNLFit, mnl_em, mnl_geometric

__all__ = ["MNLFit", "mnl_em", "mnl_geometric"]
