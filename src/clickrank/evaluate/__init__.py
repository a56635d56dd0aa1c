"""Off-policy evaluation: what a policy would have earned, from the log of another."""

from clickrank.evaluate.base import Estimator, Reward, WeightingEstimator, effective_size
from clickrank.evaluate.bootstrapped_replay import BootstrappedReplay
from clickrank.evaluate.cascade_dr import CascadeDR
from clickrank.evaluate.direct import DirectMethod
from clickrank.evaluate.evaluation import ESTIMATORS, Evaluation, Settings, evaluate
from clickrank.evaluate.frozen_policy import frozen, learned
from clickrank.evaluate.item_position_ips import ItemPositionIPS
from clickrank.evaluate.list_ips import ListIPS
from clickrank.evaluate.position_based import DocumentIPS, PositionBasedIPS
from clickrank.evaluate.propensities import Chances, propensities_of
from clickrank.evaluate.pseudo_inverse import PseudoInverse
from clickrank.evaluate.replay import Replay
from clickrank.evaluate.result import Estimate
from clickrank.evaluate.reward_interaction import RewardInteractionIPS
from clickrank.evaluate.targets import fixed_list, shown_in
from clickrank.evaluate.terms import Terms
from clickrank.evaluate.usable_part import part
from clickrank.rankings.distributions import Marginals, Mixture, RankingDistribution, UniformLists
from clickrank.stats.intervals import Interval

__all__ = [
    "ESTIMATORS",
    "BootstrappedReplay",
    "CascadeDR",
    "Chances",
    "DirectMethod",
    "DocumentIPS",
    "Estimate",
    "Estimator",
    "Evaluation",
    "Interval",
    "ItemPositionIPS",
    "ListIPS",
    "Marginals",
    "Mixture",
    "PositionBasedIPS",
    "PseudoInverse",
    "RankingDistribution",
    "Replay",
    "Reward",
    "RewardInteractionIPS",
    "Settings",
    "Terms",
    "UniformLists",
    "WeightingEstimator",
    "effective_size",
    "evaluate",
    "fixed_list",
    "frozen",
    "learned",
    "part",
    "propensities_of",
    "shown_in",
]
