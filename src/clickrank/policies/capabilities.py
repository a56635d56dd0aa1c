"""Capabilities: optional abilities of policies besides ranking and learning, one class for each.

A policy inherits the class of each of its abilities along with `Policy`. Callers that need an
ability test for it with `isinstance`. The functions at the end are for callers that need no test.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from numpy.typing import ArrayLike, NDArray

from clickrank._core.arrays import Ints
from clickrank._core.features import Features
from clickrank.errors import invalid
from clickrank.policies.policy_spec import BY_POSITION, POLICIES, Policy, settings_of
from clickrank.rankings.closed_form import ListSource
from clickrank.rankings.distributions import RankingDistribution
from clickrank.stats.beta_prior import Beta

P = TypeVar("P", bound="Policy")


class HasMemo(abc.ABC):
    """Stores a few integers per ranking until its feedback comes.

    They travel with the impression. They are not trusted, because they come back from outside.
    """

    @abc.abstractmethod
    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return how many integers must be stored per ranking to learn from it."""

    def memo_limit(self, n_items: int) -> int:
        """Return an upper bound: all integers are below it, and none is negative."""
        return n_items

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints | None:
        """Return memos, one per row, for another catalogue of ``n_items`` items.

        ``numbers[i]`` is the number that item i has there, -1 if it is gone. A memo that needs an
        item that is gone gets a -1, and its list is not learned from. None means that memos are
        valid only in the catalogue for which they were made: the default if items cannot come and
        go.
        """
        return memos if isinstance(self, ItemsComeAndGo) else None


class ItemsComeAndGo:
    """Accepts more items, fewer items, or candidates for one list, and keeps its statistics.

    Only for policies in which the statistics of an item, or of a pair of items, do not depend on
    the other items. All other fields of the state must be the same for all catalogues, or are set
    by `mend`.
    """

    #: Names of the state fields with one row per item, or with several consecutive rows per item.
    by_item: ClassVar[tuple[str, ...]]
    #: Names of the state fields with one row and one column per item.
    by_pair: ClassVar[tuple[str, ...]] = ()

    def mend(self, state: Any, numbers: Ints) -> None:
        """Set the fields of a state just carried over that depend on the catalogue.

        ``numbers[i]`` is the new number of the old item i, -1 if it is gone.
        """

    def name_items(self, cache: Any, numbers: Ints) -> None:
        """Give a cache just built for another catalogue the old number of each item.

        ``numbers[i]`` is the new number of the old item i, -1 if it is gone.
        """


class DropsItems(abc.ABC):
    """Drops items for good as it learns. Dropped items may be retired without any change."""

    @abc.abstractmethod
    def dropped(self, state: Any) -> Ints:
        """Return the items that a state will never show again."""


class Walks(abc.ABC):
    """Has a particle that must be carried over when its learner is copied or gets more items."""

    @abc.abstractmethod
    def walk_on(self, learner: Any, former: Any) -> None:
        """Copy the particle of ``former``, whose items are the first ones of ``learner``.

        If that particle is not valid, ``learner`` starts a new one.
        """


class ExactLists(abc.ABC):
    """Can compute the exact distribution of its next list, at least in some rounds.

    Policies whose `rank` draws no random number, and those that sort by scores without drawing any,
    do not need this: the engine computes their distribution.
    """

    @abc.abstractmethod
    def lists(self, source: ListSource) -> RankingDistribution | None:
        """Return the distribution of the next list; None in a round in which it is unknown."""


class ReadsEarlierStates(abc.ABC):
    """Had other state fields in an earlier version, whose saved rankers and stores must open."""

    @abc.abstractmethod
    def upgraded(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return saved statistics with the names and meanings of the present version.

        ``arrays`` may come from this version or from an earlier one.
        """


class HasCautions(abc.ABC):
    """Has disadvantages that people should know before they choose it."""

    #: Each has one sentence or more, shown wherever policies are listed.
    cautions: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def warnings(self) -> list[str]:
        """Return the `cautions` that apply to the policy with these settings."""


class KnowsItems(abc.ABC):
    """Has settings with one entry per item, which must be reordered when items are renumbered."""

    #: The setting that describes new items to `clickrank.Ranker`; empty if there is none.
    described_by: ClassVar[str] = ""

    @abc.abstractmethod
    def relabelled(self, origin: Ints, new: Any = None) -> Any:
        """Return the spec for a catalogue whose item i is item ``origin[i]`` of this spec.

        -1 stands for a new item. ``new`` describes the new items, in their order.
        """


class HasPrior(KnowsItems):
    """Has a setting ``prior``, a `clickrank.priors.Beta` for the attraction of each item."""

    described_by = "prior"

    def relabelled(self: Any, origin: Ints, new: Beta | None = None) -> Any:
        """Return the spec with the prior of each item; ``new`` is the prior of the new items."""
        prior = self.prior.relabelled(origin, new)
        return self if prior is self.prior else dataclasses.replace(self, prior=prior)


class HasFeatures(KnowsItems):
    """Has a setting ``features``, with one vector per item."""

    described_by = "features"

    def relabelled(self: Any, origin: Ints, new: ArrayLike | Features | None = None) -> Any:
        """Return the spec with the features of each item; ``new`` has those of the new items."""
        features = self.features.relabelled(origin, None if new is None else Features(new))
        return dataclasses.replace(self, features=features)


class HasScores(KnowsItems):
    """Has a setting ``scores``: scores of the items, for example by models trained offline."""

    described_by = "scores"


#: All abilities.
ABILITIES: tuple[type, ...] = (
    HasMemo,
    ItemsComeAndGo,
    DropsItems,
    Walks,
    ExactLists,
    ReadsEarlierStates,
    HasCautions,
    KnowsItems,
)
#: Settings that need an ability.
_SETTINGS: tuple[tuple[str, type], ...] = (
    ("prior", HasPrior),
    ("features", HasFeatures),
    ("scores", HasScores),
)


def parts_of(ability: type) -> list[str]:
    """Return the names that the class of an ability defines.

    >>> parts_of(Walks)
    ['walk_on']
    """
    return [name for name in _defined_by(ability) if not name.startswith("_")]


def check_abilities(cls: type[Policy]) -> None:
    """Raise if a class defines a part of an ability that it does not inherit."""
    named = [(name, ability) for ability in ABILITIES for name in parts_of(ability)]
    for name, ability in (*named, *_SETTINGS):
        if any(name in _defined_by(base) for base in cls.__mro__) and not issubclass(cls, ability):
            rule = f"{name} must come with class {cls.__name__}(Policy, {ability.__name__})"
            bases = ", ".join(base.__name__ for base in cls.__bases__)
            raise invalid(cls.__name__, rule, f"class {cls.__name__}({bases})")


def _defined_by(cls: type) -> dict[str, Any]:
    return {**vars(cls), **inspect.get_annotations(cls)}


def memo_size(policy: Policy, n_items: int, n_positions: int) -> int:
    """Return how many integers the policy stores per ranking: 0 for most policies."""
    return policy.memo_size(n_items, n_positions) if isinstance(policy, HasMemo) else 0


def memo_limit(policy: Policy, n_items: int) -> int:
    """Return an upper bound of the integers in a memo."""
    return policy.memo_limit(n_items) if isinstance(policy, HasMemo) else n_items


def memos_for(policy: Policy, memos: Ints, numbers: Ints, n_items: int) -> Ints | None:
    """Return memos for another catalogue, see `HasMemo.memos_for`."""
    return policy.memos_for(memos, numbers, n_items) if isinstance(policy, HasMemo) else memos


def relabelled(policy: P, origin: Ints, new: Any = None) -> P:
    """Return the spec for a catalogue whose item i is item ``origin[i]`` of the policy.

    -1 stands for a new item; ``new`` describes the new items, for policies that know items.
    """
    spec: Policy = policy
    if isinstance(spec, KnowsItems):
        found: P = spec.relabelled(origin, new)
        return found
    refuse_new(policy, new)
    return policy


def refuse_new(policy: Any, new: object) -> None:
    """Raise if new items are described to a policy that does not use a description."""
    if new is not None:
        takers = sorted(n for n, c in POLICIES.items() if getattr(c, "described_by", ""))
        rule = f"new items take no description (only those of {', '.join(takers)} do)"
        raise invalid(type(policy).__name__, rule, new)


def relabelled_positions(policy: P, order: Ints) -> P:
    """Return the spec for a page whose position k is the policy's position ``order[k]``."""
    changed: dict[str, Any] = {}
    for field in settings_of(type(policy)):
        values = getattr(policy, field.name)
        if field.name in BY_POSITION and values is not None:
            changed[field.name] = [values[k] for k in order]
    return dataclasses.replace(policy, **changed) if changed else policy
