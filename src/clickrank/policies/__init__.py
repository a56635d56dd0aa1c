"""Policies: how we rank and learn. One file an algorithm."""

from clickrank.policies.base import POLICIES, Assumes, Policy, policy, register
from clickrank.policies.bc_mp_ts import BCMPTS
from clickrank.policies.learner import Learner
from clickrank.policies.oracle import Oracle
from clickrank.policies.pbm_kl_ucb import PBMKLUCB
from clickrank.policies.pbm_pie import PBMPIE
from clickrank.policies.pbm_ts import PBMTS
from clickrank.policies.pbm_ucb import PBMUCB
from clickrank.policies.pmed import PMED
from clickrank.policies.rba_kl_ucb import RBAKLUCB
from clickrank.policies.uniform import Uniform

__all__ = [
    "BCMPTS",
    "PBMKLUCB",
    "PBMPIE",
    "PBMTS",
    "PBMUCB",
    "PMED",
    "POLICIES",
    "RBAKLUCB",
    "Assumes",
    "Learner",
    "Oracle",
    "Policy",
    "Uniform",
    "policy",
    "register",
]
