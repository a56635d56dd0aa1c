"""Policies: algorithms that rank items and learn from clicks, one file per algorithm."""

from clickrank.policies._shared.catalogue_change import change_catalogue
from clickrank.policies.batch_rank import BatchRank
from clickrank.policies.bayes_ucb import BayesUCB
from clickrank.policies.bc_mp_ts import BCMPTS
from clickrank.policies.bubble_rank import BubbleRank
from clickrank.policies.capabilities import (
    DropsItems,
    ExactLists,
    HasCautions,
    HasFeatures,
    HasMemo,
    HasPrior,
    HasScores,
    ItemsComeAndGo,
    KnowsItems,
    ReadsEarlierStates,
    Walks,
)
from clickrank.policies.cascade_kl_ucb import CascadeKLUCB
from clickrank.policies.cascade_lin_ts import CascadeLinTS
from clickrank.policies.cascade_lin_ucb import CascadeLinUCB
from clickrank.policies.cascade_ucb1 import CascadeUCB1
from clickrank.policies.comb_ucb1 import CombUCB1
from clickrank.policies.contract import Request
from clickrank.policies.dcm_kl_ucb import DCMKLUCB
from clickrank.policies.ensemble import Ensemble
from clickrank.policies.epoch_ts import EpochTS
from clickrank.policies.epoch_ts_unknown import EpochTSUnknown
from clickrank.policies.epoch_ucb import EpochUCB
from clickrank.policies.epoch_ucb_star import EpochUCBStar
from clickrank.policies.epoch_ucb_unknown import EpochUCBUnknown
from clickrank.policies.epoch_ucb_w import EpochUCBW
from clickrank.policies.epsilon_greedy import EpsilonGreedy
from clickrank.policies.grab import GRAB
from clickrank.policies.greedy import Greedy
from clickrank.policies.kl_comb_ucb import KLCombUCB
from clickrank.policies.mnl_bandit import MNLBandit
from clickrank.policies.oracle import Oracle
from clickrank.policies.osub import OSUB
from clickrank.policies.pb_lb import PBLB
from clickrank.policies.pb_mhb import PBMHB
from clickrank.policies.pbm_kl_ucb import PBMKLUCB
from clickrank.policies.pbm_pie import PBMPIE
from clickrank.policies.pbm_ts import PBMTS
from clickrank.policies.pbm_ucb import PBMUCB
from clickrank.policies.pmed import PMED
from clickrank.policies.policy_spec import POLICIES, Assumes, Policy, policy
from clickrank.policies.rba_kl_ucb import RBAKLUCB
from clickrank.policies.recurrank import RecurRank
from clickrank.policies.registration import register, register_fast
from clickrank.policies.s_grab import SGRAB
from clickrank.policies.thompson import ThompsonSampling
from clickrank.policies.top_rank import TopRank
from clickrank.policies.uni_rank import UniRank
from clickrank.policies.uniform import Uniform

__all__ = [
    "BCMPTS",
    "DCMKLUCB",
    "GRAB",
    "OSUB",
    "PBLB",
    "PBMHB",
    "PBMKLUCB",
    "PBMPIE",
    "PBMTS",
    "PBMUCB",
    "PMED",
    "POLICIES",
    "RBAKLUCB",
    "SGRAB",
    "Assumes",
    "BatchRank",
    "BayesUCB",
    "BubbleRank",
    "CascadeKLUCB",
    "CascadeLinTS",
    "CascadeLinUCB",
    "CascadeUCB1",
    "CombUCB1",
    "DropsItems",
    "Ensemble",
    "EpochTS",
    "EpochTSUnknown",
    "EpochUCB",
    "EpochUCBStar",
    "EpochUCBUnknown",
    "EpochUCBW",
    "EpsilonGreedy",
    "ExactLists",
    "Greedy",
    "HasCautions",
    "HasFeatures",
    "HasMemo",
    "HasPrior",
    "HasScores",
    "ItemsComeAndGo",
    "KLCombUCB",
    "KnowsItems",
    "MNLBandit",
    "Oracle",
    "Policy",
    "ReadsEarlierStates",
    "RecurRank",
    "Request",
    "ThompsonSampling",
    "TopRank",
    "UniRank",
    "Uniform",
    "Walks",
    "change_catalogue",
    "policy",
    "register",
    "register_fast",
]
