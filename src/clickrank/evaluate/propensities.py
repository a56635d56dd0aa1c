"""How likely what was shown was to be shown: logged, known, or counted in the log."""

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

#: Where propensities come from: the log's own, its frequencies, or all lists were as likely; a
#: `RankingDistribution` is the policy that chose the lists, where it is known.
Source: TypeAlias = Literal["logged", "estimated", "uniform"] | RankingDistribution

#: What to do about a log without propensities, in Python and on the command line.
OTHER_SOURCES = (
    'give propensities="uniform" (on the command line --propensities uniform) if all lists were '
    'equally likely, propensities="estimated" (--propensities estimated) to count them in the log, '
    "if its lists were drawn at random,"
)


@dataclasses.dataclass(frozen=True, eq=False)
class Chances:
    """The chances of what was shown.

    Parameters
    ----------
    marginal
        Of each item at its position, in the shape of the log; None if not known.
    prefix
        That the list began as it did, down to each position; None if not known.
    table
        Of each item at each position on average over the log, (n_items, n_positions).
    source
        "logged", "estimated" or "known".
    """

    marginal: Floats | None
    prefix: Floats | None
    table: Floats
    source: str

    def prefixes(self) -> Floats:
        """Return ``prefix``, or refuse."""
        if self.prefix is None:
            raise CannotEvaluate(
                f"The log has no propensities of lists (prefix_propensity): {OTHER_SOURCES} or log "
                "them."
            )
        return self.prefix

    def marginals(self) -> Floats:
        """Return ``marginal``, or refuse."""
        if self.marginal is None:
            raise CannotEvaluate(
                f"The log has no propensities of items (propensity): {OTHER_SOURCES} or log them."
            )
        return self.marginal


def propensities_of(log: Impressions, source: Source) -> Chances:
    """Find the propensities of a log.

    Counted in the log they are those of its average policy. That is enough if people click today
    as they did yesterday, and if which list was shown had nothing to do with who saw it.
    """
    n_items = len(log.items)
    if not isinstance(source, RankingDistribution) and source not in (
        "logged",
        "estimated",
        "uniform",
    ):
        rule = "propensities must be 'logged', 'estimated', 'uniform' or the policy of the log"
        raise invalid("propensities_of", rule, source)
    source = known_policy(log, source) or source
    if isinstance(source, RankingDistribution):
        check_of_log(source, log, "propensities")
        table, prefix = source.marginals(), None
        if (log.rankings != NOTHING).all():
            prefix = source.prefix_probabilities(log.rankings)
        return Chances(_shown(table, log), prefix, table, "known")
    if source == "estimated":
        table = item_shares(n_items, log.rankings)
        prefix = None
        if (log.rankings != NOTHING).all():
            prefix = Mixture(log.rankings, n_items).prefix_probabilities(log.rankings)
        return Chances(_shown(table, log), prefix, table, source)
    if log.propensity is None and log.prefix_propensity is None:
        raise CannotEvaluate(
            "The log has no propensities: how likely each list was to be shown. Estimate them from "
            "the log, if its lists were drawn at random; or log them."
        )
    for name in ("propensity", "prefix_propensity"):
        array = getattr(log, name)
        if array is None:
            continue
        wrong = ~((array > 0.0) & (array <= 1.0 + 1e-9)) & (log.rankings != NOTHING)
        if wrong.any():
            rule = f"{name} must be above 0 and at most 1"
            raise invalid("propensities_of", rule, float(array[wrong][0]))
    table = item_shares(n_items, log.rankings)
    return Chances(log.propensity, log.prefix_propensity, table, source)


def known_policy(log: Impressions, source: Source) -> RankingDistribution | None:
    """Return the policy that chose the lists, if it is known."""
    if source == "uniform":
        return UniformLists(len(log.items), log.rankings.shape[1])
    return source if isinstance(source, RankingDistribution) else None


def _shown(table: Floats, log: Impressions) -> Floats:
    """Return the table's entry of each item shown at its position."""
    return table[log.rankings, np.arange(log.rankings.shape[1])]
