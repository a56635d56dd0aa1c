"""Words and numbers of the board, for the terminal and for ``docs/board``.

This module imports neither Numba nor NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable

from clickrank.experiments.shipped_board import BoardEntry, PolicyStanding


def number_text(value: float) -> str:
    """Return a number with three digits or more.

    >>> number_text(1234.56), number_text(12.345), number_text(0.01234), number_text(0.0)
    ('1,235', '12.3', '0.0123', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def share_text(share: float | None) -> str:
    """Return a share in percent.

    >>> share_text(12.345), share_text(0.1234), share_text(None)
    ('12', '0.12', '—')
    """
    if share is None:
        return "—"
    return f"{share:.0f}" if share >= 10.0 or share == 0.0 else f"{share:.2g}"


def time_text(microseconds: float | None) -> str:
    """Return a time per round as an order of magnitude, with one digit.

    >>> time_text(0.1234), time_text(38.1)
    ('0.1', '40')
    """
    return "—" if microseconds is None else f"{float(f'{microseconds:.1g}'):g}"


def interval_text(entry: BoardEntry) -> str:
    """Return the regret with its interval."""
    if entry.mean is None or entry.low is None or entry.high is None:
        return "—"
    return f"{number_text(entry.mean)} [{number_text(entry.low)}, {number_text(entry.high)}]"


def place_text(entry: BoardEntry) -> str:
    """Return the place of a policy on a page; the references have none."""
    return "reference" if entry.rank is None else f"{entry.rank} of {entry.ranked}"


def given_text(given: Iterable[str], truths: Iterable[str], *, bold: bool) -> str:
    """Return what a policy is given, truths in bold or marked with a star."""
    true = set(truths)
    words = [(f"**{g}**" if bold else f"{g}*") if g in true else g for g in given]
    return ", ".join(words) or "nothing"


def standing_cells(standing: PolicyStanding, *, bold: bool) -> tuple[str, ...]:
    """Return the cells of a policy in the table of standings."""
    name = f"`{standing.name}`" if bold else standing.name
    place = standing.median_place
    outside = f" ({standing.outside}†)" if standing.outside else ""
    return (
        name,
        standing.assumes,
        given_text(standing.given, standing.truths, bold=bold),
        f"{standing.pages}{outside}",
        share_text(standing.median_share),
        "—" if place is None else f"{place:.2f}",
        str(standing.won),
        str(standing.drawn),
        str(standing.lost),
    )


def reasons_on(entries: Iterable[BoardEntry]) -> list[str]:
    """Return why policies are not in the table of a page, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for entry in entries:
        if entry.outcome == "played":
            continue
        reason = f"{entry.outcome}: {entry.reason}" if entry.reason else entry.outcome
        reason += " (stale)" * entry.stale
        by_reason.setdefault(reason.replace("does not apply: ", ""), []).append(entry.policy)
    ordered = sorted(by_reason.items(), key=lambda pair: (not pair[0].startswith("too slow"), pair))
    return [f"{', '.join(f'`{p}`' for p in policies)}: {reason}." for reason, policies in ordered]
