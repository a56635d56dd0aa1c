"""Policies at work: a learner, its propensities, and what it learned for other items."""

from clickrank import fast as _fast  # noqa: F401 (which registers kernels)
from clickrank.learning.learner import Learner
from clickrank.learning.policy_propensities import Propensities, propensities

__all__ = ["Learner", "Propensities", "propensities"]
