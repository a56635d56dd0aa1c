"""Policies at work: a learner, a ranker with the caller's own items, and what both learned."""

from clickrank import fast as _fast  # noqa: F401 (which registers kernels)
from clickrank.learning.candidates import candidate_policies, drops_items, takes_candidates
from clickrank.learning.context_state import ContextState
from clickrank.learning.item_ids import Item, ItemPropensities
from clickrank.learning.learner import Learner
from clickrank.learning.policy_propensities import Propensities, propensities
from clickrank.learning.ranker import Ranker, Shown

__all__ = [
    "ContextState",
    "Item",
    "ItemPropensities",
    "Learner",
    "Propensities",
    "Ranker",
    "Shown",
    "candidate_policies",
    "drops_items",
    "propensities",
    "takes_candidates",
]
