"""The impressions of a log that an estimator can use, and checks of logs with their targets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.estimator import Logs, Targets
from clickrank.evaluate.log_propensities import Source
from clickrank.evaluate.targets import check_of_log
from clickrank.logs import Impressions
from clickrank.logs.counts import NOTHING
from clickrank.rankings.distributions import RankingDistribution


def has_lists(log: Impressions) -> bool:
    """Return whether a log says which items were shown together, not only single displays."""
    return (
        not len(log.rankings)
        or int((log.rankings != NOTHING).sum(axis=1).max()) > 1
        or (log.rankings.shape[1] == 1)
    )


def usable(log: Impressions, source: Source, lists: bool) -> tuple[Impressions, list[str]]:
    """Return the impressions that can be used, with notes on those left out.

    Parameters
    ----------
    log, source
        The log, and where its propensities come from.
    lists
        Whether whole lists are needed. Single displays are then refused.
    """
    if not len(log.rankings):
        raise CannotEvaluate("The log has no impressions.")
    notes: list[str] = []
    there = log.rankings != NOTHING
    keep = np.ones(len(there), dtype=bool)
    if has_lists(log):
        keep = there.all(axis=1)
        if not keep.all():
            shorter = int((~keep).sum())
            notes.append(f"{shorter:,} lists shorter than {there.shape[1]} were left out.")
    elif lists:
        raise CannotEvaluate(
            "The log has single displays, and does not say which items were shown together."
        )
    if source == "logged":
        logged = [a for a in (log.propensity, log.prefix_propensity) if a is not None]
        known = keep.copy()
        for array in logged:
            known &= ~(np.isnan(array) & there).any(axis=1)
        if (known != keep).any():
            notes.append(f"{int((keep & ~known).sum()):,} lists without propensity were left out.")
            keep = known
    if keep.all():
        return log, notes
    if not keep.any():
        raise CannotEvaluate("The log has no impressions that can be used: " + " ".join(notes))
    return part(log, keep), notes


def part(log: Impressions, rows: object) -> Impressions:
    """Return some impressions of a log, given as a mask, as row numbers or as a slice."""
    changed = {
        field.name: getattr(log, field.name)[rows]
        for field in dataclasses.fields(log)
        if field.name != "items" and getattr(log, field.name) is not None
    }
    return dataclasses.replace(log, **changed)


def pairs_of(log: Logs, target: Targets) -> list[tuple[Impressions, RankingDistribution]]:
    """Return each query's log with its target, after checking that they fit together."""
    logs = [log] if isinstance(log, Impressions) else list(log)
    targets = [target] if isinstance(target, RankingDistribution) else list(target)
    if not logs or len(logs) != len(targets):
        rule = f"there must be at least one log, and one target per log ({len(logs)})"
        raise invalid("estimate", rule, len(targets))
    for one, wanted in zip(logs, targets, strict=True):
        check_of_log(wanted, one, "estimate")
    return list(zip(logs, targets, strict=True))


def check_random(log: Impressions, target: RankingDistribution, source: Source) -> None:
    """Raise if a log has no randomness, unless it shows exactly what the target shows."""
    if not has_lists(log):
        return  # the weights will show whether items change places
    first = log.rankings[:1]
    if (log.rankings == first).all():
        if target.prefix_probabilities(first)[0, -1] < 1.0 - 1e-9:
            raise CannotEvaluate(
                "No randomness: the log always shows the same list, and says nothing about others."
            )
        return
    logged = log.prefix_propensity if log.prefix_propensity is not None else log.propensity
    if source == "logged" and logged is not None and (logged >= 1.0 - 1e-9).all():
        wanted = target.prefix_probabilities(log.rankings)[:, -1]
        if not (wanted >= 1.0 - 1e-9).all():
            raise CannotEvaluate(
                "No randomness: every list was certain when it was shown (propensity 1)."
            )


def check_widths(logs: Sequence[Impressions], owner: str) -> None:
    """Raise if the logs of several queries have different numbers of positions."""
    widths = sorted({one.rankings.shape[1] for one in logs})
    if len(widths) > 1:
        raise invalid(owner, "all queries must have the same number of positions", widths)
