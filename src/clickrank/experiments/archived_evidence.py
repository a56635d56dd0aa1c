"""Evidence from an archive of runs: the complete passes of each curve of a figure."""

from __future__ import annotations

import numpy as np

from clickrank.experiments.claim_evidence import Evidence
from clickrank.experiments.figure_runs import FigureRuns, Strand
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.simulation import Result


def evidence_in(known: Evidence, runs: FigureRuns, archive: RunArchive) -> Evidence:
    """Return the evidence with the complete passes of the archive."""
    results = results_in(runs, archive)
    stopped: dict[str, tuple[Result, ...]] = {}
    for rounds in runs.stops:
        for curve, result in results_in(runs, archive, rounds).items():
            most = results[curve].runs if curve in results else 0
            if result.horizon == rounds and result.runs > most:
                stopped[curve] = (*stopped.get(curve, ()), result)
    curves = tuple(runs.curves)
    return known._replace(results=results, stopped=stopped, stops=runs.stops, curves=curves)


def results_in(
    runs: FigureRuns, archive: RunArchive, rounds: int | None = None
) -> dict[str, Result]:
    """Return the complete passes of each curve that the archive has, from the first pass on.

    They are those up to a round, by default up to the horizon.
    """
    found = {}
    for curve, strands in runs.curves.items():
        cut = strands if rounds is None else [strand.until(rounds) for strand in strands]
        result = _result_of(curve, cut, runs, archive)
        if result is not None:
            found[curve] = result
    return found


def _result_of(
    curve: str, strands: list[Strand], runs: FigureRuns, archive: RunArchive
) -> Result | None:
    rows: list[ArchivedRun] = []
    for place in runs.order:
        row = archive.find(strands[place.strand], place.run)
        if row is None:
            break
        rows.append(row)
    whole = len(rows) // runs.pass_size * runs.pass_size
    if not whole:
        return None
    plan = strands[0].plan
    return Result(
        policy=curve,
        model=f"{len(strands)} models" if len(strands) > 1 else repr(strands[0].model),
        checkpoints=plan.checkpoints,
        regret=np.array([row.regret for row in rows[:whole]]),
        run_ids=np.arange(whole),
        seed=plan.seed,
        seconds=sum(row.seconds for row in rows[:whole]),
        wanted=whole,
    )
