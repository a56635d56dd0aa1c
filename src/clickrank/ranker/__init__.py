"""A policy at work on a page: the caller's own items, which come and go, and what was learned."""

from clickrank.ranker.abilities import candidate_policies, drops_items, takes_candidates
from clickrank.ranker.learned import Learned
from clickrank.ranker.named import Item, ItemPropensities
from clickrank.ranker.ranker import Ranker, Shown

__all__ = [
    "Item",
    "ItemPropensities",
    "Learned",
    "Ranker",
    "Shown",
    "candidate_policies",
    "drops_items",
    "takes_candidates",
]
