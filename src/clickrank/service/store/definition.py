"""What a ranker is: its policy and its items, as the store keeps it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from clickrank.errors import InvalidValue
from clickrank.policies import POLICIES, Policy, policy
from clickrank.stats.beta_prior import Beta


class Definition(msgspec.Struct, frozen=True):
    """A ranker at one version; a change makes another one.

    ``items`` are by number: items are only added at the end, retired ones keep their numbers.
    """

    policy: str
    settings: dict[str, Any]
    n_positions: int
    mode: Literal["live", "shadow"]
    items: list[str]
    retired: list[int] = []
    alpha: list[float] | None = None  # of the prior, by item
    beta: list[float] | None = None
    start: list[int] | None = None  # the list to start from, for policies that improve one
    since: int = 1  # the version from which on a state can be carried to this one
    policy_since: int = 1  # the version from which on its policy and settings are these
    log_propensities: bool = False
    #: For a policy that may go on without items it has dropped: what was retired at which version,
    #: after ``since``.
    retirements: list[tuple[int, list[int]]] = []

    def retired_at(self, version: int) -> set[int]:
        """Return the items that were retired at a version, from ``since`` on."""
        later = {item for when, gone in self.retirements if when > version for item in gone}
        return set(self.retired) - later

    def first_items(self, n_items: int) -> Definition:
        """Return the definition with its first items only, as it was before others came."""
        if n_items == len(self.items):
            return self
        settings = dict(self.settings)
        if "features" in settings:
            settings["features"] = settings["features"][:n_items]
        return msgspec.structs.replace(
            self,
            settings=settings,
            items=self.items[:n_items],
            retired=[number for number in self.retired if number < n_items],
            alpha=None if self.alpha is None else self.alpha[:n_items],
            beta=None if self.beta is None else self.beta[:n_items],
        )

    def spec(self) -> Policy:
        """Return the policy with its settings, and the prior if there is one."""
        settings = dict(self.settings)
        if self.alpha is not None and self.beta is not None:
            settings["prior"] = Beta(self.alpha, self.beta)
        if self.start is not None:
            settings[POLICIES[self.policy].starting_list] = self.start
        return policy(self.policy, **settings)


def takes_priors(name: str) -> bool:
    """Tell whether the policy of that name starts from a prior."""
    return POLICIES[name].assumes.priors


def takes_list(name: str) -> bool:
    """Tell whether the policy of that name starts from a list."""
    return bool(POLICIES[name].starting_list)


def encode(definition: Definition) -> str:
    """Return the JSON to keep."""
    return msgspec.json.encode(definition).decode()


_decoder = msgspec.json.Decoder(Definition)


def decode(text: str) -> Definition:
    """Return what `encode` was given."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise InvalidValue(f"Store: a ranker's definition must be readable: {error}.") from error
