"""TOML files of the papers: reads and checks them, and selects experiments by name."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

import msgspec

from clickrank.errors import InvalidValue, unknown
from clickrank.experiments.claim_kinds import (
    AnyClaim,
    BelowBound,
    BoundFollows,
    BoundRatio,
    Falls,
    Level,
    NearBound,
    PanelRatio,
    Parameters,
    Slope,
    Spread,
    TimeRatio,
    curves_of,
)
from clickrank.experiments.figure_spec import Expected, Experiment, Figure, PanelSetting

PAPERS = Path(__file__).parent / "papers"
DATA = Path(__file__).parent / "data"
EXPECTED = "expected.toml"
SETTINGS = "settings.toml"
PRINTED = "printed.toml"
#: Papers had numbers in earlier versions, which are still understood.
NUMBERS = {
    "000": "grant-2020",
    "001": "lagree-2016",
    "002": "li-2019",
    "003": "gauthier-2022",
    "004": "kveton-2022",
}

T = TypeVar("T")


def list_experiments(root: Path = PAPERS) -> list[Experiment]:
    """Return all experiments, sorted by name.

    >>> [e.figure_id for e in list_experiments() if e.paper_id == "lagree-2016"]
    ['figure-1a', 'figure-1b', 'figure-1b-long', 'figure-2', 'robustness']
    """
    found = []
    for folder in sorted(p.parent for p in root.glob(f"*/{EXPECTED}")):
        found += _of_paper(folder)
    return found


def _of_paper(folder: Path) -> list[Experiment]:
    expected = read(folder / EXPECTED, Expected)
    shared = folder / SETTINGS
    settings = read(shared, dict[str, PanelSetting]) if shared.exists() else {}
    files = (p for p in folder.glob("*.toml") if p.name not in (EXPECTED, SETTINGS, PRINTED))
    figures: dict[str, tuple[str, Figure]] = {}  # by id, with the name of their file
    for path in sorted(files, key=lambda p: p.stem):
        try:
            panels = read(path, Figure).split(settings)
        except ValueError as error:
            if isinstance(error, InvalidValue):
                raise
            raise InvalidValue(f"{path}: {error}.") from error
        figures |= {path.stem + suffix: (path.stem, panel) for suffix, panel in panels.items()}
    claims: dict[str, list[AnyClaim]] = {figure_id: [] for figure_id in figures}
    for claim in expected.claims:
        for figure_id in _figures_of(folder / EXPECTED, claim, figures):
            _check_claim(folder / EXPECTED, claim, figure_id, figures)
            why = claim.why_in(figure_id, figures[figure_id][0])
            one = msgspec.structs.replace(claim, figure=figure_id, why=why)
            claims[figure_id].append(one)
    return [
        Experiment(
            paper_id=folder.name,
            figure_id=figure_id,
            paper=expected.paper,
            figure=figure,
            claims=claims[figure_id],
            part_of=part_of,
        )
        for figure_id, (part_of, figure) in figures.items()
    ]


def select(target: str | None, experiments: list[Experiment]) -> list[Experiment]:
    """Return the experiments that ``PAPER`` or ``PAPER/FIGURE`` names; all if the target is None.

    A paper is named by its folder or its bibliography key. A figure with panels means all of them.

    >>> [e.figure_id for e in select("lagree2016", list_experiments())]
    ['figure-1a', 'figure-1b', 'figure-1b-long', 'figure-2', 'robustness']
    """
    if target is None:
        return experiments
    paper, _, figure = target.strip("/").partition("/")
    paper = NUMBERS.get(paper, paper)
    of_paper = [e for e in experiments if paper in (e.paper_id, e.paper.key, *e.paper.aliases)]
    if not of_paper:
        names = {n for e in experiments for n in (e.paper_id, e.paper.key, *e.paper.aliases)}
        raise unknown("paper", paper, names)
    chosen = [e for e in of_paper if not figure or figure in (e.figure_id, e.part_of)]
    if not chosen:
        known = {n for e in of_paper for n in (e.figure_id, e.part_of) if n}
        raise unknown(f"figure of {of_paper[0].paper_id}", figure, known)
    return chosen


def read(path: Path, kind: type[T]) -> T:
    """Decode a TOML file; an error names the file, the key and what is expected."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except OSError as error:
        raise InvalidValue(f"{path}: the file must be readable: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path}: the file must be TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise InvalidValue(f"{path}: {error}.") from error


def _figures_of(path: Path, claim: AnyClaim, figures: dict[str, tuple[str, Figure]]) -> list[str]:
    """Return the ids of the figures and panels that a claim names."""
    named = [claim.figure] if isinstance(claim.figure, str) else claim.figure
    chosen = []
    for name in named:
        found = [i for i, (part_of, _) in figures.items() if name in (i, part_of)]
        if not found:
            known = ", ".join(dict.fromkeys(n for i, (p, _) in figures.items() for n in (p, i)))
            rule = f"figure must be one of {known}, got {name!r}"
            raise InvalidValue(f"{path}: claim {claim.id!r}: {rule}.")
        chosen += found
    reasons = claim.why if isinstance(claim.why, dict) else {}
    for name in reasons:
        if all(name not in (i, figures[i][0]) for i in chosen):
            raise InvalidValue(f"{path}: claim {claim.id!r}: why names {name!r}, not its figure.")
    return list(dict.fromkeys(chosen))


def _check_claim(
    path: Path, claim: AnyClaim, figure_id: str, figures: dict[str, tuple[str, Figure]]
) -> None:
    figure = figures[figure_id][1]
    where = f"{path}: claim {claim.id!r}"
    curves = [policy.curve for policy in figure.policies]
    for curve in curves_of(claim):
        if curve not in curves:
            raise InvalidValue(
                f"{where}: policy must be one of {', '.join(curves)}, got {curve!r}."
            )
    if isinstance(claim, Slope | BelowBound | NearBound) and figure.bound != "pbm":
        raise InvalidValue(f"{where}: {figure_id} must have a bound, got {figure.bound!r}.")
    if isinstance(claim, Parameters) and figure.model_set is None:
        raise InvalidValue(f"{where}: {figure_id} must have a model_set, got a model.")
    along = isinstance(claim, Falls | Level | BoundRatio | BoundFollows)
    if along and figure.sweep is None:
        raise InvalidValue(f"{where}: {figure_id} must have a sweep.")
    if isinstance(claim, BoundRatio | BoundFollows) and figure.bound == "none":
        raise InvalidValue(f"{where}: {figure_id} must have a bound.")
    if figure.sweep is not None and not along:
        kind = claim.__struct_config__.tag
        raise InvalidValue(f"{where}: kind must be a kind for sweeps in {figure_id}, got {kind!r}.")
    if isinstance(claim, PanelRatio) and claim.over not in figures:
        known = ", ".join(figures)
        raise InvalidValue(f"{where}: over must be one of {known}, got {claim.over!r}.")
    if figure.sweep is not None and claim.rounds is not None:
        raise InvalidValue(f"{where}: rounds must not be given in {figure_id}, which is a sweep.")
    if isinstance(claim, TimeRatio):
        times = {p.curve: p.milliseconds for p in figure.policies}
        if any(times[curve] is None for curve in claim.policies):
            raise InvalidValue(f"{where}: milliseconds must be given for each of its policies.")
    if isinstance(claim, Spread) and figure.grid is None:
        raise InvalidValue(f"{where}: {figure_id} must have a grid.")
