"""What is known of items before the first click: Beta priors, and where they come from."""

from clickrank.priors.clicks import from_log
from clickrank.priors.example import load_example
from clickrank.priors.history import from_history
from clickrank.priors.judged import JudgedQueries, JudgedQuery
from clickrank.priors.letor import load_letor, read_letor
from clickrank.priors.order import from_ranking
from clickrank.priors.rankers import from_rankers, ranker_scores
from clickrank.priors.scores import effective_votes, from_scores
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
