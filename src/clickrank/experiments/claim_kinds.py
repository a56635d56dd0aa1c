"""What papers claim, as data: one struct for each kind of claim. `claims` judges them."""

from __future__ import annotations

from typing import Literal

import msgspec

from clickrank.experiments.tolerance_windows import AS_STATED, ROUNDS_TO, limits_of


class Panels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In how many of the figures that a claim names it must hold: "on four settings of seven"."""

    least: int = 0
    most: int = 1000


class Claim(
    msgspec.Struct, tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What a paper says about one of its figures.

    Parameters
    ----------
    figure, id
        Which figure, panel of a figure, or list of these, and a short name for the claim.
    text
        The claim in a sentence.
    source
        Whether the paper says it, its figure shows it, or neither: then it is ours.
    note
        What to know when reading the verdict, for example why it fails here.
    rounds
        How many rounds it speaks of, if not of as many as the paper's figure shows. A longer run is
        judged at this round; a shorter one at its end, and the verdict says "so far".
    panels
        The claim is that it holds in this many of the figures named; by default, in each.
    """

    figure: str | list[str]
    id: str
    text: str
    source: Literal["stated in the text", "read off the figure", "not in the paper"]
    note: str = ""
    rounds: int | None = None
    panels: Panels | None = None

    def __post_init__(self) -> None:
        """Check the rounds."""
        if self.rounds is not None and self.rounds < 1:
            raise ValueError("rounds must be at least 1")


class Windowed(Claim, frozen=True, kw_only=True):
    """A claim that a number lies within a window; see `windows`.

    Parameters
    ----------
    window
        The name of the window.
    value
        The paper's number, of which the window allows multiples.
    digits
        With how many significant digits the paper prints it, for "rounds to".
    low, high
        The limits that the paper itself gives, for "as stated".
    """

    window: str
    value: float = 1.0
    digits: int = 0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check what goes together."""
        super().__post_init__()
        limits_of(self.window, self.value, self.digits, self.low, self.high)

    @property
    def limits(self) -> tuple[float, float]:
        """Between which numbers the value may lie."""
        return limits_of(self.window, self.value, self.digits, self.low, self.high)

    @property
    def origin(self) -> str:
        """Where the limits come from, in words."""
        if self.window == AS_STATED:
            return "the paper's numbers"
        if self.window == ROUNDS_TO:
            return f"rounds to {self.value:,g}"
        return self.window if self.value == 1.0 else f"{self.window} {self.value:,g}"


class Order(Claim, tag="order", frozen=True, kw_only=True):
    """At the horizon each policy has less regret than the next."""

    policies: list[str]


class Best(Claim, tag="best", frozen=True, kw_only=True):
    """At the horizon every one of ``policies`` has less regret than every one of ``than``."""

    policies: list[str]
    than: list[str]


class Slope(Windowed, tag="slope", frozen=True, kw_only=True):
    """Over the last decade the regret grows with log t; the window is of the bound's rate."""

    policy: str


class BelowBound(Claim, tag="below-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret is below the lower bound C·log T."""

    policy: str


class NearBound(Windowed, tag="near-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret, divided by the lower bound C·log T, is in the window."""

    policy: str


class Settled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run loses per round once it has settled: on a right list, and on a wrong one.

    A run counts as settled on a wrong list if it loses more than the mean of the two.
    """

    right: float = 0.0
    wrong: float

    @property
    def border(self) -> float:
        """The loss per round from which a run counts as settled on a wrong list."""
        return (self.right + self.wrong) / 2


class Tail(Windowed, tag="tail", frozen=True, kw_only=True):
    """The share of runs that lose as with a wrong list over the last half is in the window."""

    policy: str
    settled: Settled


class TailOrder(Claim, tag="tail-order", frozen=True, kw_only=True):
    """Fewer runs of the first policy than of the second lose as with a wrong list."""

    policies: tuple[str, str]
    settled: Settled


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a paper's table says of one click model."""

    n_items: int
    lowest: float
    highest: float


class Parameters(Claim, tag="parameters", frozen=True, kw_only=True):
    """The models of a set have the number of items and the range of attraction of a table."""

    decimals: int
    rows: list[Row]


class Range(Claim, tag="range", frozen=True, kw_only=True):
    """In a file of models a parameter runs from ``lowest`` to ``highest``."""

    file: str
    parameter: Literal["attraction", "examination"]
    lowest: float
    highest: float
    decimals: int


class Ratio(Windowed, tag="ratio", frozen=True, kw_only=True):
    """At the horizon the first policy's mean regret, divided by the second's, is in the window."""

    policies: tuple[str, str]


class Value(Windowed, tag="value", frozen=True, kw_only=True):
    """At the horizon the mean regret is in the window."""

    policy: str


class Growth(Claim, tag="growth", frozen=True, kw_only=True):
    """How the regret of the last tenfold of rounds compares with that of the tenfold before.

    Logarithmic regret grows by the same in both, linear regret ten times as much in the last: the
    limit between the two is √10. Regret has stopped if it grows by less than 1/√10 times as much.
    """

    policy: str
    shape: Literal["logarithmic", "linear", "stopped"]


class Flattens(Claim, tag="flattens", frozen=True, kw_only=True):
    """The last half of the rounds adds less, relative to the first half, than regret of √t does."""

    policy: str


class CatchUp(Windowed, tag="catch-up", frozen=True, kw_only=True):
    """The first policy loses more up to a share of the rounds, and at their end no longer does.

    At the end its mean regret, divided by the other's, is in the window.
    """

    policies: tuple[str, str]
    share: float


class NearBest(Windowed, tag="near-best", frozen=True, kw_only=True):
    """At the horizon the mean regret of each policy, divided by every other's, is in the window."""

    policies: list[str]


class Rank(Claim, tag="rank", frozen=True, kw_only=True):
    """At the horizon a policy has place ``first`` to ``last`` of those named, 1 for the best."""

    policy: str
    among: list[str]
    first: int = 1
    last: int


class AnyRatio(Windowed, tag="any-ratio", frozen=True, kw_only=True):
    """At the horizon the regret of some policy named, divided by ``than``'s, is in the window.

    "Tightly followed by A or B".
    """

    policies: list[str]
    than: str


class PanelRatio(Windowed, tag="panel-ratio", frozen=True, kw_only=True):
    """The policy's mean regret, divided by what it is in another figure, is in the window."""

    policy: str
    over: str


class Spread(Windowed, tag="spread", frozen=True, kw_only=True):
    """Along both axes of a grid, from its best cell, the regret at the horizon rises by the window.

    The policies drawn with the grid do not count.
    """


class TimeRatio(Claim, tag="time-ratio", frozen=True, kw_only=True):
    """How the times per round of two programs compared when the paper was written.

    That is a fact of history: it is shown with the times of the policies here, and not judged.
    """

    policies: tuple[str, str]


class Falls(Claim, tag="falls", frozen=True, kw_only=True):
    """Along a sweep the regret of each policy falls from place to place."""

    policies: list[str]


class Level(Windowed, tag="level", frozen=True, kw_only=True):
    """At every place of a sweep the mean regret, divided by that at the first, is in the window."""

    policies: list[str]


class BoundRatio(Windowed, tag="bound-ratio", frozen=True, kw_only=True):
    """At every place of a sweep the upper bound, divided by the mean regret, is in the window."""

    policies: list[str]


class BoundFollows(Windowed, tag="bound-follows", frozen=True, kw_only=True):
    """How many times as loose the upper bound is at the end of a sweep as at its beginning.

    Looseness is the bound divided by the mean regret: 1 if both fall by the same factor.
    """

    policies: list[str]


AnyClaim = (
    Order | Best | Slope | BelowBound | NearBound | Tail | TailOrder | Parameters
    | Range | Ratio | Value | Growth | CatchUp | NearBest | Spread | TimeRatio
    | Falls | Level | BoundRatio | BoundFollows | Flattens | Rank | AnyRatio | PanelRatio
)  # fmt: skip


def curves_of(claim: AnyClaim) -> list[str]:
    """Return the names of the curves that a claim is about."""
    if isinstance(
        claim, Slope | BelowBound | NearBound | Tail | Value | Growth | Flattens | PanelRatio
    ):
        return [claim.policy]
    if isinstance(claim, Rank):
        return list(dict.fromkeys([claim.policy, *claim.among]))
    if isinstance(claim, AnyRatio):
        return [*claim.policies, claim.than]
    if isinstance(claim, Best):
        return [*claim.policies, *claim.than]
    if isinstance(claim, Parameters | Range | Spread):
        return []
    return list(claim.policies)
