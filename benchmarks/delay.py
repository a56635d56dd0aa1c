"""Benchmark of late feedback: the regret of each policy with delays, as a table in Markdown.

    python benchmarks/delay.py --write docs/delayed-feedback.md

Simulates every policy that learns on one position-based page. A policy that assumes multinomial
logit clicks gets a page of the same numbers with such clicks, and one that assumes a single
position gets the first position. Feedback comes at once, some rounds late, or in batches. All
policies meet the same users.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import clickrank as cr
from clickrank.clickmodels import MNL, PBM, LinearAttraction
from clickrank.errors import DoesNotApply
from clickrank.policies import POLICIES
from clickrank.policies.capabilities import memo_size

ATTRACTION = [0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01]
EXAMINATION = [1.0, 0.75, 0.6, 0.3, 0.1]
SEED = 0


class Column(NamedTuple):
    """The time of feedback: its delay in rounds, and the number of rounds between deliveries."""

    title: str
    delay: int
    batch: int


COLUMNS = (
    Column("at once", 0, 1),
    Column("1 late", 1, 1),
    Column("10 late", 10, 1),
    Column("1,000 late", 1000, 1),
    Column("by 100", 0, 100),
    Column("by 1,000", 0, 1000),
)
BEGIN = "<!-- begin: written by benchmarks/delay.py -->"
END = "<!-- end: written by benchmarks/delay.py -->"


def names() -> list[str]:
    """Return the names of the policies that clickrank ships and that learn."""
    own = (n for n, cls in POLICIES.items() if cls.__module__.startswith("clickrank."))
    return sorted(set(own) - {"oracle", "uniform", "greedy", "ensemble"})


def row(name: str, rounds: int, runs: int, threads: int | None = None) -> str:
    """Simulate one policy at all delays; return its line of the table."""
    assumed = POLICIES[name].assumes.click_models
    logit = "mnl" in assumed and "pbm" not in assumed
    # Any attractions are linear in as many features as items.
    attraction = LinearAttraction(np.eye(len(ATTRACTION)), ATTRACTION)
    model = (MNL if logit else PBM)(attraction, EXAMINATION)
    label = f"`{name}` †" if logit else f"`{name}`"
    if POLICIES[name].assumes.positions == "one":
        model = model.first_positions(1)
        label += " ‡"
    try:
        spec = cr.policy(name, model=model, horizon=rounds)
    except DoesNotApply as reason:  # it must know something that this page does not have
        sys.stderr.write(f"{reason}\n")
        return f"| {label} | – |{' – |' * len(COLUMNS)}"
    if spec.why_not(model) is not None:
        label += " *"
    cells = []
    for column in COLUMNS:
        result = cr.simulate(
            spec,
            model,
            rounds,
            runs,
            SEED,
            checkpoints=[rounds],
            delay=column.delay,
            batch=column.batch,
            threads=threads,
            progress=False,
            allow_mismatch=True,
        )
        regret = result.regret[:, -1]
        error = float(np.std(regret, ddof=1)) / runs**0.5 if runs > 1 else float("nan")
        cells.append(f"{regret.mean():,.0f} ± {error:,.0f}")
    size = memo_size(spec, model.n_items, model.n_positions)
    return f"| {label} | {size} | {' | '.join(cells)} |"


def table(rows: Sequence[str], rounds: int, runs: int) -> str:
    """Return the table with its heading and caption, ordered by name."""
    head = f"| policy | memo | {' | '.join(column.title for column in COLUMNS)} |"
    line = f"|---|---|{'---|' * len(COLUMNS)}"
    caption = f"{rounds:,} rounds, mean of {runs} runs ± one standard error, seed {SEED}."
    return "\n".join([BEGIN, "", head, line, *sorted(rows), "", caption, END])


def rows_of(text: str) -> dict[str, str]:
    """Return the rows of the table on a page, by policy."""
    inside = text[text.index(BEGIN) : text.index(END)]
    return {m[1]: m[0] for m in re.finditer(r"^\| `([^`]+)`.*$", inside, re.MULTILINE)}


def put(page: Path, new: dict[str, str], rounds: int, runs: int, keep: bool) -> None:
    """Replace the table of a page; ``keep`` keeps the rows of policies that were not simulated."""
    text = page.read_text()
    known = set(names())
    old = {name: line for name, line in rows_of(text).items() if keep and name in known}
    written = table(list({**old, **new}.values()), rounds, runs)
    begin, end = text.index(BEGIN), text.index(END) + len(END)
    page.write_text(text[:begin] + written + text[end:])


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, and print the table or write it into a page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000, help="rounds per run")
    parser.add_argument("--runs", type=int, default=20, help="runs per policy and delay")
    parser.add_argument("--threads", type=int, help="runs at once; by default one per core")
    parser.add_argument("--policies", help="comma-separated; --write keeps the rows of others")
    parser.add_argument("--write", type=Path, help="page whose table to replace")
    given = parser.parse_args(arguments)
    chosen = given.policies.split(",") if given.policies else names()
    new = {}
    for name in chosen:
        new[name] = row(name, given.rounds, given.runs, given.threads)
        sys.stderr.write(new[name] + "\n")
    if given.write is None:
        sys.stdout.write(table(list(new.values()), given.rounds, given.runs) + "\n")
    else:
        put(given.write, new, given.rounds, given.runs, keep=given.policies is not None)


if __name__ == "__main__":
    main()
