"""Learning: a policy with its state (Learner), its contexts, and the embedded Ranker."""

from clickrank import fast as _fast  # noqa: F401 (registers the fast kernels)
from clickrank.learning.candidates import candidate_policies, drops_items, takes_candidates
from clickrank.learning.catalogue import Item, ItemPropensities
from clickrank.learning.context_state import ContextState
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
