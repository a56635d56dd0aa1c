"""Kinds of claims that papers make: one struct per kind. `claims` judges them."""

from __future__ import annotations

from typing import Literal

import msgspec

from clickrank.experiments.tolerance_windows import AS_STATED, ROUNDS_TO, limits_of


class Panels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """In how many of its figures a claim must hold, as in "on four settings out of seven"."""

    least: int = 0
    most: int = 1000


class Claim(
    msgspec.Struct, tag_field="kind", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """A claim of a paper about one of its figures.

    Parameters
    ----------
    figure, id
        The figure, the panel of a figure, or a list of these; and a short name for the claim.
    text
        The claim in a sentence.
    source
        Whether the text states the claim, the figure shows it, or it is not in the paper.
    note
        A remark on the verdict.
    why
        Why the claim fails, if it does, as far as it is known: one text, or one per figure or
        panel.
    rounds
        The number of rounds that the claim is about, if it differs from the paper's figure. A
        longer run is judged at this round, a shorter one at its end with a verdict "so far".
    panels
        In how many of the named figures the claim must hold; by default in each.
    """

    figure: str | list[str]
    id: str
    text: str
    source: Literal["stated in the text", "read off the figure", "not in the paper"]
    note: str = ""
    why: str | dict[str, str] = ""
    rounds: int | None = None
    panels: Panels | None = None

    def __post_init__(self) -> None:
        """Check the number of rounds."""
        if self.rounds is not None and self.rounds < 1:
            raise ValueError("rounds must be at least 1")

    def why_in(self, *names: str) -> str:
        """Return why the claim fails in a figure, given the names that it has."""
        if isinstance(self.why, str):
            return self.why
        return next((self.why[name] for name in names if name in self.why), "")


class Windowed(Claim, frozen=True, kw_only=True):
    """A claim that a number lies within a window; see `tolerance_windows`.

    Parameters
    ----------
    window
        The name of the window.
    value
        The paper's number; the window allows multiples of it.
    digits
        The number of significant digits in the paper, for "rounds to".
    low, high
        The limits that the paper gives, for "as stated".
    """

    window: str
    value: float = 1.0
    digits: int = 0
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check that the fields are consistent."""
        super().__post_init__()
        limits_of(self.window, self.value, self.digits, self.low, self.high)

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest allowed value."""
        return limits_of(self.window, self.value, self.digits, self.low, self.high)

    @property
    def origin(self) -> str:
        """Where the limits come from."""
        if self.window == AS_STATED:
            return "the paper's numbers"
        if self.window == ROUNDS_TO:
            return f"rounds to {self.value:,g}"
        return self.window if self.value == 1.0 else f"{self.window} {self.value:,g}"


class Order(Claim, tag="order", frozen=True, kw_only=True):
    """At the horizon each policy has less regret than the next."""

    policies: list[str]


class BestOf(Claim, tag="best", frozen=True, kw_only=True):
    """At the horizon every one of ``policies`` has less regret than every one of ``than``."""

    policies: list[str]
    than: list[str]


class Slope(Windowed, tag="slope", frozen=True, kw_only=True):
    """From T/10 to T the regret grows with log t; the window is for its rate over the bound's."""

    policy: str


class BelowBound(Claim, tag="below-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret is below the lower bound C·log T."""

    policy: str


class NearBound(Windowed, tag="near-bound", frozen=True, kw_only=True):
    """At the horizon the mean regret, divided by the lower bound C·log T, is in the window."""

    policy: str


class Settled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The regret per round of a run that has settled on a correct list, and on a wrong one.

    A run counts as settled on a wrong list if its regret per round is above the mean of the two.
    """

    right: float = 0.0
    wrong: float

    @property
    def border(self) -> float:
        """The regret per round from which a run counts as settled on a wrong list."""
        return (self.right + self.wrong) / 2


class Tail(Windowed, tag="tail", frozen=True, kw_only=True):
    """The share of runs that have settled on a wrong list by the last half is in the window."""

    policy: str
    settled: Settled


class TailOrder(Claim, tag="tail-order", frozen=True, kw_only=True):
    """Fewer runs of the first policy than of the second settle on a wrong list."""

    policies: tuple[str, str]
    settled: Settled


class ParameterRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The row of one click model in a paper's table."""

    n_items: int
    lowest: float
    highest: float


class Parameters(Claim, tag="parameters", frozen=True, kw_only=True):
    """The models of a set have the numbers of items and the ranges of attraction in a table."""

    decimals: int
    rows: list[ParameterRow]


class Range(Claim, tag="range", frozen=True, kw_only=True):
    """In a file of models, a parameter ranges from ``lowest`` to ``highest``."""

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
    """How the regret from T/10 to T compares with the regret from T/100 to T/10.

    Logarithmic regret grows by the same amount in both, linear regret by ten times as much in the
    last: the limit between them is √10. Regret has stopped if the ratio is below 1/√10.
    """

    policy: str
    shape: Literal["logarithmic", "linear", "stopped"]


class Flattens(Claim, tag="flattens", frozen=True, kw_only=True):
    """The ratio of the regrets in the second and the first half is below that of √t."""

    policy: str


class CatchUp(Windowed, tag="catch-up", frozen=True, kw_only=True):
    """The first policy has more regret at a share of the rounds, but not at their end.

    At the end, its mean regret divided by the second policy's is in the window.
    """

    policies: tuple[str, str]
    share: float


class NearBest(Windowed, tag="near-best", frozen=True, kw_only=True):
    """At the horizon the mean regret of each policy, divided by every other's, is in the window."""

    policies: list[str]


class Rank(Claim, tag="rank", frozen=True, kw_only=True):
    """At the horizon a policy is between place ``first`` and ``last``, where 1 is the best."""

    policy: str
    among: list[str]
    first: int = 1
    last: int


class AnyRatio(Windowed, tag="any-ratio", frozen=True, kw_only=True):
    """At the horizon the regret of at least one policy, divided by ``than``'s, is in the window.

    An example is "tightly followed by A or B".
    """

    policies: list[str]
    than: str


class PanelRatio(Windowed, tag="panel-ratio", frozen=True, kw_only=True):
    """The policy's mean regret, divided by its mean regret in another figure, is in the window."""

    policy: str
    over: str


class Spread(Windowed, tag="spread", frozen=True, kw_only=True):
    """Along both axes through the best cell of a grid, some regret over the best is in the window.

    Policies that are drawn with the grid do not count.
    """


class TimeRatio(Claim, tag="time-ratio", frozen=True, kw_only=True):
    """The ratio of the times per round of two programs when the paper was written.

    It is shown next to the times measured here, and not judged.
    """

    policies: tuple[str, str]


class Falls(Claim, tag="falls", frozen=True, kw_only=True):
    """Along a sweep the regret of each policy falls from each point to the next."""

    policies: list[str]


class Level(Windowed, tag="level", frozen=True, kw_only=True):
    """At every point of a sweep the mean regret, divided by that at the first, is in the window."""

    policies: list[str]


class BoundRatio(Windowed, tag="bound-ratio", frozen=True, kw_only=True):
    """At every point of a sweep the upper bound, divided by the mean regret, is in the window."""

    policies: list[str]


class BoundFollows(Windowed, tag="bound-follows", frozen=True, kw_only=True):
    """The looseness of the upper bound at the end of a sweep, relative to its beginning.

    Looseness is the bound divided by the mean regret. The ratio is 1 if both fall by the same
    factor.
    """

    policies: list[str]


AnyClaim = (
    Order | BestOf | Slope | BelowBound | NearBound | Tail | TailOrder | Parameters
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
    if isinstance(claim, BestOf):
        return [*claim.policies, *claim.than]
    if isinstance(claim, Parameters | Range | Spread):
        return []
    return list(claim.policies)
