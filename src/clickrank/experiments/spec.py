"""Experiments as data: the structs that the TOML files of a paper are decoded into.

papers/<paper>/<figure>.toml     models, policies, horizon and runs of one figure: `Figure`
papers/<paper>/expected.toml     the paper's claims about its figures: `Expected`
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from clickrank.errors import InvalidValue, unknown

PAPERS = Path(__file__).parent / "papers"
DATA = Path(__file__).parent / "data"
EXPECTED = "expected.toml"

T = TypeVar("T")


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of all specs: read-only, and a misspelt key is an error."""


class Model(Spec, frozen=True, kw_only=True):
    """A click model by its registered name, with its parameters."""

    name: str
    parameters: dict[str, Any] = {}


class ModelSet(Spec, frozen=True, kw_only=True):
    """Many click models of one kind, of which each run draws one; the same for all policies.

    ``file`` is in the data folder: a JSON object from labels to the parameters of a model.
    """

    name: str
    file: str


class PolicySpec(Spec, frozen=True, kw_only=True):
    """A policy by its registered name; ``beyond``: the paper's figure does not show it."""

    name: str
    label: str = ""
    settings: dict[str, Any] = {}
    beyond: bool = False

    @property
    def curve(self) -> str:
        """The name of its curve: the label, or else the policy's name."""
        return self.label or self.name


class Scale(Spec, frozen=True, kw_only=True):
    """How much to simulate."""

    horizon: int
    runs: int

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key in ("horizon", "runs"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")


class Figure(Spec, frozen=True, kw_only=True):
    """One figure of a paper.

    Parameters
    ----------
    title
        What it shows.
    model, model_set
        The click model, or the models of which each run draws one; exactly one of the two.
    policies
        The curves, in drawing order.
    scale
        How much to simulate, by the name of the scale.
    seed
        Decides all that is random.
    bound
        The lower bound to draw in.
    yscale
        The vertical axis.
    survival
        Whether to show how the regret at the horizon is spread over runs.
    differences
        What is done otherwise than in the paper, or is not said there.
    """

    title: str
    policies: list[PolicySpec]
    scale: dict[Literal["quick", "paper"], Scale]
    model: Model | None = None
    model_set: ModelSet | None = None
    seed: int = 0
    bound: Literal["none", "pbm"] = "none"
    yscale: Literal["log", "linear"] = "log"
    survival: bool = False
    differences: list[str] = []

    def __post_init__(self) -> None:
        """Check what goes together."""
        if (self.model is None) == (self.model_set is None):
            raise ValueError("exactly one of model and model_set must be given")
        if set(self.scale) != {"quick", "paper"}:
            raise ValueError("scale must have the tables quick and paper")
        curves = [policy.curve for policy in self.policies]
        if not curves or len(set(curves)) < len(curves):
            raise ValueError("policies must be given, each with a label of its own")
        if self.bound != "none" and self.model is None:
            raise ValueError("bound must be 'none' with a model_set")


class Claim(Spec, tag_field="kind", frozen=True, kw_only=True):
    """What a paper says about one of its figures.

    Parameters
    ----------
    figure, id
        Which figure, and a short name for the claim.
    text
        The claim in a sentence.
    source
        Whether the paper says it, or its figure shows it.
    note
        What to know when reading the verdict, for example why it fails here.
    """

    figure: str
    id: str
    text: str
    source: Literal["stated in the text", "read off the figure"]
    note: str = ""


class Order(Claim, tag="order", frozen=True, kw_only=True):
    """At the horizon each policy has less regret than the next."""

    policies: list[str]


class Best(Claim, tag="best", frozen=True, kw_only=True):
    """At the horizon every one of ``policies`` has less regret than every one of ``than``."""

    policies: list[str]
    than: list[str]


class Comparable(Claim, tag="comparable", frozen=True, kw_only=True):
    """At the horizon the mean regrets of two policies differ by at most a factor."""

    policies: tuple[str, str]
    factor: float


class Slope(Claim, tag="slope", frozen=True, kw_only=True):
    """Over the last decade the regret grows with log t at low to high times the bound's rate."""

    policy: str
    low: float
    high: float


class BelowBound(Claim, tag="below-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret is below the lower bound C·log T."""

    policy: str


class NearBound(Claim, tag="near-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret is low to high times the lower bound C·log T."""

    policy: str
    low: float
    high: float


class Tail(Claim, tag="tail", frozen=True, kw_only=True):
    """The share of runs that lose at least ``rate`` a round over the last half."""

    policy: str
    rate: float
    side: Literal["above", "below"]
    share: float


class TailOrder(Claim, tag="tail-order", frozen=True, kw_only=True):
    """Fewer runs of the first policy than of the second lose at least ``rate`` a round."""

    policies: tuple[str, str]
    rate: float


class Row(Spec, frozen=True, kw_only=True):
    """What a paper's table says of one click model."""

    n_items: int
    lowest: float
    highest: float


class Parameters(Claim, tag="parameters", frozen=True, kw_only=True):
    """The models of a set have the number of items and the range of attraction of a table."""

    decimals: int
    rows: list[Row]


AnyClaim = (
    Order | Best | Comparable | Slope | BelowBound | NearBound | Tail | TailOrder | Parameters
)


class Paper(Spec, frozen=True, kw_only=True):
    """Where the experiments come from."""

    title: str
    authors: str
    year: int
    key: str
    aliases: list[str] = []


class Expected(Spec, frozen=True, kw_only=True):
    """The paper, and all its claims."""

    paper: Paper
    claims: list[AnyClaim]


class Experiment(Spec, frozen=True, kw_only=True):
    """One figure with its place and its claims."""

    paper_id: str
    figure_id: str
    paper: Paper
    figure: Figure
    claims: list[AnyClaim]

    @property
    def name(self) -> str:
        """Return the name that `reproduce` takes, as in ``lagree-2016/figure-1a``."""
        return f"{self.paper_id}/{self.figure_id}"


def list_experiments(root: Path = PAPERS) -> list[Experiment]:
    """Return all experiments, in the order of their names.

    >>> [e.name for e in list_experiments()][0]
    'lagree-2016/figure-1a'
    """
    found = []
    for folder in sorted(p.parent for p in root.glob(f"*/{EXPECTED}")):
        expected = read(folder / EXPECTED, Expected)
        files = sorted(
            (p for p in folder.glob("*.toml") if p.name != EXPECTED), key=lambda p: p.stem
        )
        figures = {p.stem: read(p, Figure) for p in files}
        for claim in expected.claims:
            _check_claim(folder / EXPECTED, claim, figures)
        for figure_id, figure in figures.items():
            claims = [c for c in expected.claims if c.figure == figure_id]
            found.append(
                Experiment(
                    paper_id=folder.name,
                    figure_id=figure_id,
                    paper=expected.paper,
                    figure=figure,
                    claims=claims,
                )
            )
    return found


def select(target: str | None, experiments: list[Experiment]) -> list[Experiment]:
    """Return the experiments that ``PAPER`` or ``PAPER/FIGURE`` names; all if it is None.

    >>> [e.figure_id for e in select("001", list_experiments())]
    ['figure-1a', 'figure-1b', 'figure-1b-long', 'figure-2']
    """
    if target is None:
        return experiments
    paper, _, figure = target.strip("/").partition("/")
    of_paper = [e for e in experiments if paper in (e.paper_id, *e.paper.aliases)]
    if not of_paper:
        names = {n for e in experiments for n in (e.paper_id, *e.paper.aliases)}
        raise unknown("paper", paper, names)
    chosen = [e for e in of_paper if not figure or e.figure_id == figure]
    if not chosen:
        raise unknown(f"figure of {of_paper[0].paper_id}", figure, [e.figure_id for e in of_paper])
    return chosen


def read(path: Path, kind: type[T]) -> T:
    """Decode a TOML file; the error names the file, the key and the rule."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), kind)
    except OSError as error:
        raise InvalidValue(f"{path}: the file must be readable: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path}: the file must be TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise InvalidValue(f"{path}: {error}.") from error


def _check_claim(path: Path, claim: AnyClaim, figures: dict[str, Figure]) -> None:
    where = f"{path}: claim {claim.id!r}"
    if claim.figure not in figures:
        known = ", ".join(figures)
        raise InvalidValue(f"{where}: figure must be one of {known}, got {claim.figure!r}.")
    figure = figures[claim.figure]
    curves = [policy.curve for policy in figure.policies]
    for curve in curves_of(claim):
        if curve not in curves:
            raise InvalidValue(
                f"{where}: policy must be one of {', '.join(curves)}, got {curve!r}."
            )
    if isinstance(claim, Slope | BelowBound | NearBound) and figure.bound == "none":
        raise InvalidValue(f"{where}: {claim.figure} must have a bound, got 'none'.")
    if isinstance(claim, Parameters) and figure.model_set is None:
        raise InvalidValue(f"{where}: {claim.figure} must have a model_set, got a model.")


def curves_of(claim: AnyClaim) -> list[str]:
    """Return the names of the curves that a claim is about."""
    if isinstance(claim, Slope | BelowBound | NearBound | Tail):
        return [claim.policy]
    if isinstance(claim, Best):
        return [*claim.policies, *claim.than]
    return [] if isinstance(claim, Parameters) else list(claim.policies)
