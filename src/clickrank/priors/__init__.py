"""Priors: Beta distributions of attractions, from logs, rankings, scores and judged queries."""

from clickrank.priors.example_queries import load_example
from clickrank.priors.history_prior import from_history
from clickrank.priors.judgements import JudgedQueries, JudgedQuery
from clickrank.priors.letor import load_letor, read_letor
from clickrank.priors.log_prior import from_log
from clickrank.priors.ranker_prior import from_rankers, ranker_scores
from clickrank.priors.ranking_prior import from_ranking
from clickrank.priors.score_prior import effective_votes, from_scores
from clickrank.stats.beta_prior import Beta

__all__ = [
    "Beta",
    "JudgedQueries",
    "JudgedQuery",
    "effective_votes",
    "from_history",
    "from_log",
    "from_rankers",
    "from_ranking",
    "from_scores",
    "load_example",
    "load_letor",
    "ranker_scores",
    "read_letor",
]
