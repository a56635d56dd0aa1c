"""What papers claim, as data: one struct for each kind of claim. `claims` judges them."""

from __future__ import annotations

import math
from typing import Literal

import msgspec


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
        How many rounds it speaks of: with fewer it is undecided.
    """

    figure: str | list[str]
    id: str
    text: str
    source: Literal["stated in the text", "read off the figure", "not in the paper"]
    note: str = ""
    rounds: int = 0


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


class Ratio(Claim, tag="ratio", frozen=True, kw_only=True):
    """At the horizon the first policy's mean regret is low to high times the second's."""

    policies: tuple[str, str]
    low: float = 0.0
    high: float = math.inf


class Value(Claim, tag="value", frozen=True, kw_only=True):
    """At the horizon the mean regret is between two numbers."""

    policy: str
    low: float
    high: float


class Growth(Claim, tag="growth", frozen=True, kw_only=True):
    """How the regret of the last tenfold of rounds compares with that of the tenfold before.

    Logarithmic regret grows by the same in both, linear regret ten times as much in the last: the
    limit between the two is √10.
    """

    policy: str
    shape: Literal["logarithmic", "linear"]


class Flattens(Claim, tag="flattens", frozen=True, kw_only=True):
    """The last half of the rounds adds less, relative to the first half, than regret of √t does."""

    policy: str


class CatchUp(Claim, tag="catch-up", frozen=True, kw_only=True):
    """The first policy loses more up to a share of the horizon, and at its end no longer does.

    At the end its mean regret is at most ``factor`` times the other's.
    """

    policies: tuple[str, str]
    share: float
    factor: float


class NearBest(Claim, tag="near-best", frozen=True, kw_only=True):
    """At the horizon the mean regret is at most ``factor`` times the figure's smallest."""

    policy: str
    factor: float


class Spread(Claim, tag="spread", frozen=True, kw_only=True):
    """Over a grid the largest mean regret at the horizon is ``factor`` times the smallest or more.

    The policies beside the grid do not count.
    """

    factor: float


class TimeRatio(Claim, tag="time-ratio", frozen=True, kw_only=True):
    """A round of the first policy takes low to high times as long as one of the second."""

    policies: tuple[str, str]
    low: float = 0.0
    high: float = math.inf


class Falls(Claim, tag="falls", frozen=True, kw_only=True):
    """Along a sweep the regret of each policy falls from place to place."""

    policies: list[str]


class BoundRatio(Claim, tag="bound-ratio", frozen=True, kw_only=True):
    """At every place of a sweep the upper bound is low to high times the mean regret."""

    policies: list[str]
    low: float
    high: float


class Loosens(Claim, tag="loosens", frozen=True, kw_only=True):
    """The upper bound is more times the mean regret at the end of a sweep than at its beginning."""

    policies: list[str]


AnyClaim = (
    Order | Best | Comparable | Slope | BelowBound | NearBound | Tail | TailOrder | Parameters
    | Range | Ratio | Value | Growth | CatchUp | NearBest | Spread | TimeRatio
    | Falls | BoundRatio | Loosens | Flattens
)  # fmt: skip


def curves_of(claim: AnyClaim) -> list[str]:
    """Return the names of the curves that a claim is about."""
    if isinstance(
        claim, Slope | BelowBound | NearBound | Tail | Value | Growth | NearBest | Flattens
    ):
        return [claim.policy]
    if isinstance(claim, Best):
        return [*claim.policies, *claim.than]
    if isinstance(claim, Parameters | Range | Spread):
        return []
    return list(claim.policies)
