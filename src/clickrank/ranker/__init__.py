"""A policy at work on a page: the caller's own items, which come and go, and what was learned."""

from clickrank.ranker.learned import Learned, candidate_policies, takes_candidates
from clickrank.ranker.ranker import Item, Ranker, Shown

__all__ = ["Item", "Learned", "Ranker", "Shown", "candidate_policies", "takes_candidates"]
