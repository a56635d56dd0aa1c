"""Regret bounds of the papers, as functions of a click model or of a prior: one file per paper."""

from clickrank.bounds.combes_2014 import unimodal_lower_bound
from clickrank.bounds.divergence import bernoulli_kl
from clickrank.bounds.gauthier_2022 import (
    grab_upper_bound,
    kl_comb_ucb_upper_bound,
    pb_lower_bound,
    unirank_upper_bound,
)
from clickrank.bounds.grant_2020 import (
    geometric_deviation,
    mnl_bandit_rate,
    mnl_lower_bound,
    mnl_lower_rate,
    mnl_unknown_rate,
    mnl_upper_bound,
)
from clickrank.bounds.kveton_2022 import cascade_bayes_bound, dcm_bayes_bound, dctr_bayes_bound
from clickrank.bounds.lagree_2016 import (
    multiple_play_lower_bound,
    pbm_exploring_positions,
    pbm_lower_bound,
    pbm_pie_constant,
    pbm_ucb_constant,
)
from clickrank.bounds.lagree_2016_estimators import (
    debiased_variance,
    pbm_information,
    pooled_efficiency,
    pooled_variance,
)
from clickrank.bounds.li_2019 import (
    linear_lower_bound,
    linear_upper_bound,
    linear_upper_rate,
)

__all__ = [
    "bernoulli_kl",
    "cascade_bayes_bound",
    "dcm_bayes_bound",
    "dctr_bayes_bound",
    "debiased_variance",
    "geometric_deviation",
    "grab_upper_bound",
    "kl_comb_ucb_upper_bound",
    "linear_lower_bound",
    "linear_upper_bound",
    "linear_upper_rate",
    "mnl_bandit_rate",
    "mnl_lower_bound",
    "mnl_lower_rate",
    "mnl_unknown_rate",
    "mnl_upper_bound",
    "multiple_play_lower_bound",
    "pb_lower_bound",
    "pbm_exploring_positions",
    "pbm_information",
    "pbm_lower_bound",
    "pbm_pie_constant",
    "pbm_ucb_constant",
    "pooled_efficiency",
    "pooled_variance",
    "unimodal_lower_bound",
    "unirank_upper_bound",
]
