"""Propensities of a log's lists: logged, of a known policy, or estimated by frequencies."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

import numpy as np

from clickrank._core.arrays import Floats
from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.targets import check_of_log
from clickrank.logs import Impressions
from clickrank.logs.counts import NOTHING
from clickrank.rankings.distributions import Mixture, RankingDistribution, UniformLists
from clickrank.rankings.enumeration import item_shares

#: Where propensities come from: the log's columns, frequencies in the log, or uniformly drawn
#: lists; a `RankingDistribution` is the policy that chose the lists, if it is known.
Source: TypeAlias = Literal["logged", "estimated", "uniform"] | RankingDistribution

#: What to do about a log without propensities, in words that hold for Python and options.
OTHER_SOURCES = (
    "set propensities to 'uniform' (--propensities uniform) if all lists were equally likely, to "
    "'estimated' (--propensities estimated) to count them in the log if its lists were drawn at "
    "random,"
)


@dataclasses.dataclass(frozen=True, eq=False)
class LogPropensities:
    """The probabilities with which a log's lists were shown.

    Parameters
    ----------
    marginal
        Probability of each item at its position, in the shape of the log; None if not known.
    prefix
        Probability that the list agrees with the one shown up to each position; None if not known.
    table
        Probability of each item at each position, averaged over the log, (n_items, n_positions).
    source
        "logged", "estimated" or "known".
    """

    marginal: Floats | None
    prefix: Floats | None
    table: Floats
    source: str

    def prefixes(self) -> Floats:
        """Return ``prefix``, or raise if it is not known."""
        if self.prefix is None:
            raise CannotEvaluate(
                f"The log has no propensities of lists (prefix_propensity): {OTHER_SOURCES} or log "
                "them."
            )
        return self.prefix

    def marginals(self) -> Floats:
        """Return ``marginal``, or raise if it is not known."""
        if self.marginal is None:
            raise CannotEvaluate(
                f"The log has no propensities of items (propensity): {OTHER_SOURCES} or log them."
            )
        return self.marginal


def propensities_of(log: Impressions, source: Source) -> LogPropensities:
    """Return the propensities of a log.

    Frequencies in the log are the propensities of its average policy. They are enough if people's
    behaviour does not change, and if the choice of the list did not depend on the visitor.
    """
    n_items = len(log.items)
    known = isinstance(source, RankingDistribution)
    if not known and source not in ("logged", "estimated", "uniform"):
        rule = "propensities must be 'logged', 'estimated', 'uniform' or the policy of the log"
        raise invalid("propensities_of", rule, source)
    policy = known_policy(log, source)
    if policy is not None:
        check_of_log(policy, log, "propensities")
        table, prefix = policy.marginals(), None
        if (log.rankings != NOTHING).all():
            prefix = policy.prefix_probabilities(log.rankings)
        return LogPropensities(_shown(table, log), prefix, table, "known")
    table = item_shares(n_items, log.rankings)
    if source == "estimated":
        prefix = None
        if (log.rankings != NOTHING).all():
            prefix = Mixture(log.rankings, n_items).prefix_probabilities(log.rankings)
        return LogPropensities(_shown(table, log), prefix, table, "estimated")
    if log.propensity is None and log.prefix_propensity is None:
        raise CannotEvaluate(
            "The log has no propensities, which say how likely each list was to be shown. Log "
            "them, or estimate them from the log if its lists were drawn at random."
        )
    for name in ("propensity", "prefix_propensity"):
        array = getattr(log, name)
        if array is None:
            continue
        wrong = ~((array > 0.0) & (array <= 1.0 + 1e-9)) & (log.rankings != NOTHING)
        if wrong.any():
            rule = f"{name} must be above 0 and at most 1"
            raise invalid("propensities_of", rule, float(array[wrong][0]))
    return LogPropensities(log.propensity, log.prefix_propensity, table, "logged")


def known_policy(log: Impressions, source: Source) -> RankingDistribution | None:
    """Return the policy that chose the lists, if it is known."""
    if isinstance(source, RankingDistribution):
        return source
    if source == "uniform":
        return UniformLists(len(log.items), log.rankings.shape[1])
    return None


def _shown(table: Floats, log: Impressions) -> Floats:
    """Return the table's entry for each item shown, at its position."""
    return table[log.rankings, np.arange(log.rankings.shape[1])]
