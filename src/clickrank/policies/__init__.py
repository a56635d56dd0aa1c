"""Policies: how we rank and learn. One file an algorithm."""

from clickrank.policies.base import POLICIES, Assumes, Policy, policy, register
from clickrank.policies.bc_mp_ts import BCMPTS
from clickrank.policies.comb_ucb1 import CombUCB1
from clickrank.policies.grab import GRAB
from clickrank.policies.kl_comb_ucb import KLCombUCB
from clickrank.policies.learner import Learner
from clickrank.policies.oracle import Oracle
from clickrank.policies.pbm_kl_ucb import PBMKLUCB
from clickrank.policies.pbm_pie import PBMPIE
from clickrank.policies.pbm_ts import PBMTS
from clickrank.policies.pbm_ucb import PBMUCB
from clickrank.policies.rba_kl_ucb import RBAKLUCB
from clickrank.policies.s_grab import SGRAB
from clickrank.policies.top_rank import TopRank
from clickrank.policies.uni_rank import UniRank
from clickrank.policies.uniform import Uniform

__all__ = [
    "BCMPTS",
    "GRAB",
    "PBMKLUCB",
    "PBMPIE",
    "PBMTS",
    "PBMUCB",
    "POLICIES",
    "RBAKLUCB",
    "SGRAB",
    "Assumes",
    "CombUCB1",
    "KLCombUCB",
    "Learner",
    "Oracle",
    "Policy",
    "TopRank",
    "UniRank",
    "Uniform",
    "policy",
    "register",
]
