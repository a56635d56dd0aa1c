"""clickrank learns from clicks which items to show and in which order."""

from clickrank import (
    bounds,
    checks,
    clickmodels,
    errors,
    evaluate,
    fit,
    kernels,
    learning,
    policies,
    priors,
)
from clickrank.learning import Learner
from clickrank.policies import policy
from clickrank.ranker import Ranker, Shown
from clickrank.simulation import Comparison, ManyResults, Result, compare, simulate, simulate_many

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Learner",
    "ManyResults",
    "Ranker",
    "Result",
    "Shown",
    "bounds",
    "checks",
    "clickmodels",
    "compare",
    "errors",
    "evaluate",
    "fit",
    "kernels",
    "learning",
    "policies",
    "policy",
    "priors",
    "simulate",
    "simulate_many",
]
