"""Off-policy evaluation: estimates of what a policy would have earned on another policy's log."""

from clickrank.evaluate.bootstrapped_replay import BootstrappedReplay
from clickrank.evaluate.cascade_dr import CascadeDR
from clickrank.evaluate.direct_method import DirectMethod
from clickrank.evaluate.document_ips import DocumentIPS
from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.estimator import Estimator, Reward
from clickrank.evaluate.evaluation import ESTIMATORS, Evaluation, EvaluationSettings, evaluate
from clickrank.evaluate.frozen_policy import frozen, learned
from clickrank.evaluate.item_position_ips import ItemPositionIPS
from clickrank.evaluate.list_ips import ListIPS
from clickrank.evaluate.log_propensities import LogPropensities, propensities_of
from clickrank.evaluate.position_based_ips import PositionBasedIPS
from clickrank.evaluate.pseudo_inverse_estimator import PseudoInverse
from clickrank.evaluate.replay import Replay
from clickrank.evaluate.reward_interaction_ips import RewardInteractionIPS
from clickrank.evaluate.targets import fixed_list, shown_in
from clickrank.evaluate.usable_impressions import part
from clickrank.evaluate.weighted_terms import WeightedTerms
from clickrank.evaluate.weighting import WeightingEstimator, effective_size
from clickrank.rankings.distributions import Marginals, Mixture, RankingDistribution, UniformLists
from clickrank.stats.intervals import Interval

__all__ = [
    "ESTIMATORS",
    "BootstrappedReplay",
    "CascadeDR",
    "DirectMethod",
    "DocumentIPS",
    "Estimate",
    "Estimator",
    "Evaluation",
    "EvaluationSettings",
    "Interval",
    "ItemPositionIPS",
    "ListIPS",
    "LogPropensities",
    "Marginals",
    "Mixture",
    "PositionBasedIPS",
    "PseudoInverse",
    "RankingDistribution",
    "Replay",
    "Reward",
    "RewardInteractionIPS",
    "UniformLists",
    "WeightedTerms",
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
