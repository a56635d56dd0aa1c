"""Specifications of figures: the structs that the TOML files of a paper are decoded into.

papers/<paper>/<figure>.toml     models, policies, horizon and runs of one figure (`Figure`)
papers/<paper>/expected.toml     the paper and its claims about the figures (`Expected`)
papers/<paper>/settings.toml     click models shared by panels of several figures (`PanelSetting`)
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

import msgspec

from clickrank.experiments.bound_lines import LINES
from clickrank.experiments.claim_kinds import AnyClaim
from clickrank.experiments.model_sources import (
    Drawn,
    Judged,
    Linear,
    Model,
    ModelSet,
    MovieLens,
    Point,
    Spec,
    Sweep,
)

ScaleName = Literal["quick", "decide", "paper"]

#: The mean of ten runs is close to normal, even if the regret of one run is skewed.
RUNS_PER_PASS = 10
#: Runs of this many rounds take seconds.
LONG_RUN = 1_000_000


class KnownPrior(Spec, frozen=True, kw_only=True):
    """A Beta prior that a policy is given for every item, whatever the true prior."""

    alpha: float
    beta: float


class PolicySpec(Spec, frozen=True, kw_only=True):
    """A policy of a figure, and its curve there.

    Parameters
    ----------
    name, settings
        The registered name of the policy, and its parameters.
    label
        The name of the curve; by default that of the policy.
    beyond
        Whether the curve is not in the paper's figure.
    mismatch
        Whether the policy is run on clicks that it does not assume.
    share
        The policy is stopped after this share of the rounds.
    milliseconds
        The time per round that the paper reports.
    knows
        What the policy is given: "nothing"; the "prior" that comes with each model; the "tempered"
        prior, which weights the votes of the offline rankers by their agreement; the "scores" of
        the rankers; or one prior for all models.
    """

    name: str
    label: str = ""
    settings: dict[str, Any] = {}
    beyond: bool = False
    mismatch: bool = False
    share: float = 1.0
    milliseconds: float | None = None
    knows: Literal["nothing", "prior", "tempered", "scores"] | KnownPrior = "nothing"

    def __post_init__(self) -> None:
        """Check that the share is in range."""
        if not 0.0 < self.share <= 1.0:
            raise ValueError("share must be above 0 and at most 1")

    @property
    def curve(self) -> str:
        """The name of its curve: the label, or else the policy's name."""
        return self.label or self.name


class AtPoint(PolicySpec, frozen=True, kw_only=True):
    """A policy at one point of a sweep, with the source of its models there."""

    source: Drawn | Linear


class Scale(Spec, frozen=True, kw_only=True):
    """How much to simulate.

    Of a grid, one in ``thin`` values is used along each axis; of many drawn models, the first
    ``models``, by default all.
    """

    horizon: int
    runs: int
    thin: int = 1
    models: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key in ("horizon", "runs", "thin", "models"):
            if getattr(self, key) is not None and getattr(self, key) < 1:
                raise ValueError(f"{key} must be at least 1")


class Axis(Spec, frozen=True, kw_only=True):
    """A parameter of a policy, and its values."""

    parameter: str
    values: list[float]


class Grid(Spec, frozen=True, kw_only=True):
    """A policy with every pair of values of two of its parameters."""

    name: str
    x: Axis
    y: Axis

    def policies(self, thin: int = 1) -> list[PolicySpec]:
        """Return the policies of the grid, row by row."""
        return [
            PolicySpec(
                name=self.name,
                label=self.label(x, y),
                settings={self.x.parameter: x, self.y.parameter: y},
            )
            for y in self.y.values[::thin]
            for x in self.x.values[::thin]
        ]

    def places(self) -> dict[str, tuple[float, float]]:
        """Return the two values of each cell, by the name of its curve."""
        return {self.label(x, y): (x, y) for y in self.y.values for x in self.x.values}

    def label(self, x: float, y: float) -> str:
        """Return the name of one cell's curve."""
        return f"{self.name} {self.x.parameter}={x:g} {self.y.parameter}={y:g}"


class PanelSetting(Spec, frozen=True, kw_only=True):
    """What the policies of a panel are played on, with a title; see `Figure`."""

    title: str
    model: Model | None = None
    model_set: ModelSet | None = None
    drawn: Drawn | None = None
    judged: Judged | None = None
    counted_positions: int | None = None
    differences: list[str] = []


class Panel(Spec, frozen=True, kw_only=True):
    """One of several parts of a figure, which differ in what the policies are played on.

    Parameters
    ----------
    suffix
        The suffix that makes the panel's name from the figure's.
    setting
        The name of a `PanelSetting`.
    settings
        Additional or different parameters of policies in this panel, by curve.
    scale
        How much to simulate, if it differs from the other panels.
    """

    suffix: str
    setting: str
    settings: dict[str, dict[str, Any]] = {}
    scale: dict[ScaleName, Scale] = {}


class Figure(Spec, frozen=True, kw_only=True):
    """One figure of a paper.

    Parameters
    ----------
    title
        What it shows.
    model, model_set, drawn, linear, judged, movielens
        The click model, or the source of many; exactly one of these, unless there are panels.
    panels
        The parts of the figure; each becomes a separate figure on a setting of the paper.
    policies
        The curves, in drawing order.
    grid
        A policy with many parameter values, drawn as a map of the regret at the horizon.
    sweep
        The regret at the horizon is drawn along an axis: over priors of drawn models, or over the
        number of items or features of linear models.
    scale
        How much to simulate, by the name of the scale. With a model set whose models are all
        played, it gives the number of runs on each. In the optional scale "decide", ``runs`` is the
        largest number of passes.
    counted_positions
        Number of positions, from the top, that regret is computed on; by default all.
    timed
        Whether the figure is about computation time; its runs are not played in parallel.
    seed
        Seed of all random numbers.
    bound
        The bound to draw: "pbm" is the lower bound for position-based clicks, "bayes" the upper
        bound of kveton2022 for drawn models. "linear" is the upper bound of li2019 for sweeps of
        linear models; it is used in the table and in claims, and not drawn.
    references
        Other bounds to draw where they are not vacuous, by their names in `bound_lines`.
    yscale
        The scale of the vertical axis.
    survival
        Whether to show the distribution of the regret at the horizon over runs.
    differences
        Differences from the paper, and choices that the paper does not specify.
    """

    title: str
    policies: list[PolicySpec]
    scale: dict[ScaleName, Scale]
    model: Model | None = None
    model_set: ModelSet | None = None
    drawn: Drawn | None = None
    linear: Linear | None = None
    judged: Judged | None = None
    movielens: MovieLens | None = None
    panels: list[Panel] = []
    grid: Grid | None = None
    sweep: Sweep | None = None
    counted_positions: int | None = None
    timed: bool = False
    seed: int = 0
    bound: Literal["none", "pbm", "bayes", "linear"] = "none"
    references: list[str] = []
    yscale: Literal["log", "linear"] = "log"
    survival: bool = False
    differences: list[str] = []

    def __post_init__(self) -> None:
        """Check that the fields are consistent."""
        places = (
            self.model, self.model_set, self.drawn, self.linear, self.judged, self.movielens,
            self.panels or None,
        )  # fmt: skip
        if sum(place is not None for place in places) != 1:
            known = "model, model_set, drawn, linear, judged, movielens and panels"
            raise ValueError(f"exactly one of {known} must be given")
        if not {"quick", "paper"} <= set(self.scale):
            raise ValueError("scale must have the tables quick and paper")
        curves = [policy.curve for policy in self.curves()]
        if not curves or len(set(curves)) < len(curves):
            raise ValueError("policies must be given, each with a different label")
        if self.bound == "pbm" and self.model is None:
            raise ValueError("bound must not be 'pbm' without a model")
        if self.bound == "bayes" and not (self.drawn or self.panels):
            raise ValueError("the bound 'bayes' needs drawn models")
        if self.bound == "linear" and not (self.linear and self.sweep):
            raise ValueError("the bound 'linear' needs a sweep of linear models")
        if self.sweep and not (self.drawn or self.linear or self.panels):
            raise ValueError("a sweep needs drawn or linear models")
        unknown = sorted(set(self.references) - set(LINES))
        if unknown:
            raise ValueError(f"references must be among {', '.join(LINES)}, not {unknown}")
        suffixes = {panel.suffix for panel in self.panels}
        if len(suffixes) < len(self.panels):
            raise ValueError("panels must have different suffixes")
        for panel in self.panels:
            extra = set(panel.settings) - set(curves)
            if extra:
                raise ValueError(f"panel {panel.suffix!r} sets unknown curves {sorted(extra)}")

    @property
    def many(self) -> bool:
        """Whether the policies are played on many drawn models, queries or splits of users."""
        places = (self.drawn, self.linear, self.judged, self.movielens)
        return any(place is not None for place in places)

    def pass_size(self, models: int) -> int:
        """Return the number of runs in a pass, whose mean counts as one value; see `claims`.

        On a set of queries it is one run on each. Otherwise it is `RUNS_PER_PASS`, half of that if
        runs are long, or one if the figure has only a few models, each of which takes long.
        """
        if self.on_each_model:
            return models
        if self.linear is not None or self.movielens is not None:
            return 1
        long = self.scale["paper"].horizon >= LONG_RUN
        return RUNS_PER_PASS // 2 if long else RUNS_PER_PASS

    @property
    def on_each_model(self) -> bool:
        """Whether a pass has one run on each query of a set, so that each query is a stratum."""
        each = self.model_set is not None and self.model_set.runs == "each"
        return each or self.judged is not None

    def curves(self, scale: Scale | None = None) -> list[PolicySpec]:
        """Return all policies in drawing order: those listed, then those of the grid.

        In a sweep, each policy is returned once per point.
        """
        source = self.drawn or self.linear
        if self.sweep is not None and source is not None:
            return [
                _at(policy, source, self.sweep, point)
                for policy in self.policies
                for point in self.sweep.points
            ]
        thin = 1 if scale is None else scale.thin
        return [*self.policies, *(self.grid.policies(thin) if self.grid else [])]

    def split(self, settings: dict[str, PanelSetting]) -> dict[str, Figure]:
        """Return the panels as figures, by suffix; a figure without panels has the suffix ""."""
        if not self.panels:
            return {"": self}
        return {panel.suffix: self._panel(panel, settings) for panel in self.panels}

    def _panel(self, panel: Panel, settings: dict[str, PanelSetting]) -> Figure:
        if panel.setting not in settings:
            raise ValueError(f"setting {panel.setting!r} must be one of {', '.join(settings)}")
        place = settings[panel.setting]
        policies = [
            msgspec.structs.replace(p, settings={**p.settings, **panel.settings.get(p.curve, {})})
            for p in self.policies
        ]
        return msgspec.structs.replace(
            self,
            title=f"{self.title}: {place.title}",
            panels=[],
            policies=policies,
            scale={**self.scale, **panel.scale},
            model=place.model,
            model_set=place.model_set,
            drawn=place.drawn,
            judged=place.judged,
            counted_positions=place.counted_positions,
            differences=[*self.differences, *place.differences],
        )


def _at(policy: PolicySpec, source: Drawn | Linear, sweep: Sweep, point: Point) -> AtPoint:
    """Return a policy at one point of a sweep."""
    fields = {key: getattr(policy, key) for key in policy.__struct_fields__}
    fields["label"] = sweep.curve(policy.curve, point.place)
    return AtPoint(**fields, source=point.replaced(source))


class Paper(Spec, frozen=True, kw_only=True):
    """The paper that experiments come from."""

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
    """One figure or panel, with its names and its claims.

    ``data`` is the path of the data set that it is played on, if one was given.
    """

    paper_id: str
    figure_id: str
    paper: Paper
    figure: Figure
    claims: list[AnyClaim]
    part_of: str = ""
    data: str = ""

    @property
    def place(self) -> str:
        """Return the name of its results and of its section in the report, one per data set."""
        if not self.data:
            return self.name
        digest = hashlib.sha256(self.data.encode()).hexdigest()[:8]
        return f"{self.name}@{Path(self.data).name}-{digest}"

    @property
    def name(self) -> str:
        """Return the name that `reproduce` takes, as in ``lagree-2016/figure-1a``."""
        return f"{self.paper_id}/{self.figure_id}"
