"""The part of a log that can be evaluated on, and what is said about the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from clickrank.errors import CannotEvaluate, invalid
from clickrank.evaluate.propensities import Source
from clickrank.evaluate.targets import check_of_log
from clickrank.logs import Impressions
from clickrank.logs.counts import NOTHING
from clickrank.rankings.distributions import RankingDistribution


def has_lists(log: Impressions) -> bool:
    """Whether it says what was shown together: not so where every row is a single display."""
    return (
        not len(log.rankings)
        or int((log.rankings != NOTHING).sum(axis=1).max()) > 1
        or (log.rankings.shape[1] == 1)
    )


def usable(log: Impressions, source: Source, lists: bool) -> tuple[Impressions, list[str]]:
    """Return a log without what cannot be used, with sentences on what that was.

    Parameters
    ----------
    log, source
        The log, and where its propensities come from.
    lists
        Whether whole lists are needed; single displays are refused then.
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
            "The log has single displays, and does not say what was shown together."
        )
    if source == "logged":
        chances = [a for a in (log.propensity, log.prefix_propensity) if a is not None]
        known = keep.copy()
        for array in chances:
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
    """Return some impressions: a mask, numbers or a slice of them."""
    changed = {
        field.name: getattr(log, field.name)[rows]
        for field in dataclasses.fields(log)
        if field.name != "items" and getattr(log, field.name) is not None
    }
    return dataclasses.replace(log, **changed)


def pairs_of(
    log: Impressions | Sequence[Impressions],
    target: RankingDistribution | Sequence[RankingDistribution],
) -> list[tuple[Impressions, RankingDistribution]]:
    """Return each query's log with its target, checked."""
    logs = [log] if isinstance(log, Impressions) else list(log)
    targets = [target] if isinstance(target, RankingDistribution) else list(target)
    if not logs or len(logs) != len(targets):
        rule = f"there must be a log, and a target a log ({len(logs)})"
        raise invalid("estimate", rule, len(targets))
    for one, wanted in zip(logs, targets, strict=True):
        check_of_log(wanted, one, "estimate")
    return list(zip(logs, targets, strict=True))


def check_random(log: Impressions, target: RankingDistribution, source: Source) -> None:
    """Refuse a log without randomness, unless it shows just what the target shows."""
    if not has_lists(log):
        return  # whether items change places, weights will tell
    first = log.rankings[:1]
    if (log.rankings == first).all():
        if target.prefix_probabilities(first)[0, -1] < 1.0 - 1e-9:
            raise CannotEvaluate(
                "No randomness: the log always shows the same list, which tells nothing of others."
            )
        return
    chances = log.prefix_propensity if log.prefix_propensity is not None else log.propensity
    if source == "logged" and chances is not None and (chances >= 1.0 - 1e-9).all():
        wanted = target.prefix_probabilities(log.rankings)[:, -1]
        if not (wanted >= 1.0 - 1e-9).all():
            raise CannotEvaluate(
                "No randomness: every list was certain when it was shown (propensity 1)."
            )


def check_widths(logs: Sequence[Impressions], owner: str) -> None:
    """Check that all queries have as many positions."""
    widths = sorted({one.rankings.shape[1] for one in logs})
    if len(widths) > 1:
        raise invalid(owner, "all queries must have as many positions", widths)
