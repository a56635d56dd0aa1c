"""Base class of policies: `Policy` has the hyper-parameters, `Assumes` the assumptions.

The kernels are in `clickrank.policies.contract`; optional abilities of policies are in
`clickrank.policies.capabilities`.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from clickrank._core.arrays import Floats, Vector, probabilities
from clickrank._core.registry import Registry
from clickrank._core.validate import check_float, check_int
from clickrank.errors import does_not_apply, invalid


class KnownModel(Protocol):
    """The properties of a click model that a policy may read, apart from known parameters."""

    @property
    def name(self) -> str:
        """Its registered name."""

    @property
    def is_a(self) -> tuple[str, ...]:
        """Names of the click models of which it is a special case, itself included."""

    @property
    def n_positions(self) -> int:
        """Number of positions of its lists."""


@dataclasses.dataclass(frozen=True)
class Assumes:
    """The assumptions of a policy.

    Parameters
    ----------
    click_models
        Names of the click models that its guarantee covers; empty means any.
    known
        Parameters of the page that must be known ("examination", "position_bias", ...). Each is a
        field of the spec; if it is not given, the click model's attribute of that name is used.
    horizon
        Whether the number of rounds must be known.
    features
        Whether it needs a feature vector per item: a field ``features`` of the spec. If it is not
        given, the features of the click model's attraction are used.
    priors
        Whether it accepts prior knowledge about items.
    positions
        Which positions are examined most: "any", the "first", or each more than the next
        ("decreasing"). "one" if there must not be more than one position.
    equal_satisfaction
        Whether a click must satisfy with the same probability at all positions and on all items, in
        click models in which a click may satisfy.
    """

    click_models: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    horizon: bool = False
    features: bool = False
    priors: bool = False
    positions: Literal["any", "first", "decreasing", "one"] = "any"
    equal_satisfaction: bool = False


#: Fields of a spec that have one entry per position.
BY_POSITION = ("examination", "position_bias", "satisfaction", "best_ranking")


@dataclasses.dataclass(frozen=True)
class Policy(abc.ABC):
    """Base class of policies: hyper-parameters, checked when it is made, and never changed.

    A subclass is a frozen dataclass that defines `params` and `init`, and is registered with
    `register`. See ``docs/developer/adding-a-policy.md``.

    Parameters
    ----------
    reference
        Whether to run the plain kernels of the policy's own file, even if there are faster ones.
        Rankings are the same.
    """

    reference: bool = dataclasses.field(default=False, kw_only=True, repr=False)

    name: ClassVar[str]
    assumes: ClassVar[Assumes]
    #: Whether it should beat uniform rankings; the checks test either answer.
    beats_uniform: ClassVar[bool] = True
    #: Whether it is given the best list and shows nothing else: others are compared with it.
    is_oracle: ClassVar[bool] = False
    #: Whether it shows all lists equally often: others should do better.
    is_uniform: ClassVar[bool] = False
    #: The click model with which the checks play it, if it assumes none.
    checked_on: ClassVar[str] = "pbm"
    #: The largest number of items that it is meant for; None means any number.
    most_items: ClassVar[int | None] = None
    #: The parameter for the list to start from, the page's own; empty if there is none.
    starting_list: ClassVar[str] = ""
    #: Whether `rank` changes something, other than a cache, that influences the next list before
    #: any feedback: a particle that walks, or a deck that is being dealt.
    rank_remembers: ClassVar[bool] = False

    @abc.abstractmethod
    def params(self, n_items: int, n_positions: int) -> Any:
        """Return the NamedTuple of constants that the kernels read."""

    @abc.abstractmethod
    def init(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first round, a NamedTuple of arrays."""

    def why_not(self, model: KnownModel) -> str | None:
        """Return why the policy's assumptions do not hold for a click model; None if they do."""
        covered = self.assumes.click_models
        if covered and not set(covered) & set(model.is_a):
            return f"it assumes {' or '.join(covered)} clicks, not {model.name}"
        examination = [float(x) for x in getattr(model, "examination", ())]
        order = self.assumes.positions
        if order == "one" and model.n_positions > 1:
            return f"it assumes that there is one position, not {model.n_positions}"
        if order == "first" and any(x > examination[0] for x in examination):
            return f"it assumes that the first position is examined most, not {examination}"
        if order == "decreasing" and any(b > a for a, b in itertools.pairwise(examination)):
            return f"it assumes that examination decreases, not {examination}"
        bias = [float(x) for x in getattr(model, "position_bias", ())]
        if order == "decreasing" and any(b > a for a, b in itertools.pairwise(bias)):
            return f"it assumes that position_bias decreases, not {bias}"
        for name in ("satisfaction", "item_satisfaction") * self.assumes.equal_satisfaction:
            satisfied = [float(x) for x in getattr(model, name, ())]
            if satisfied and max(satisfied) > min(satisfied):
                range_ = f"from {min(satisfied):g} to {max(satisfied):g}"
                return f"it assumes that all clicks satisfy equally, but {name} is {range_}"
        return None


def settings_of(cls: type[Policy]) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields that define a policy, without those that only say how it is run."""
    return tuple(field for field in dataclasses.fields(cls) if field.name != "reference")


POLICIES: Registry[Policy] = Registry("policy")


def policy(
    name: str,
    *,
    model: KnownModel | None = None,
    horizon: int | None = None,
    reference: bool = False,
    **settings: Any,
) -> Policy:
    """Make a registered policy by name.

    Parameters that the policy must know and that are not given are taken from ``model`` and
    ``horizon``. With ``reference`` it runs its plain kernels: slower, with the same rankings.

    >>> policy("pbm-ucb", examination=[1.0, 0.5])
    PBMUCB(examination=(1.0, 0.5), epsilon=0.0)
    >>> policy("pbm-ubc")
    Traceback (most recent call last):
    clickrank.errors.UnknownName: Unknown policy 'pbm-ubc'. Did you mean 'pbm-ucb'?
    """
    if not isinstance(name, str):
        raise invalid("policy", "name must be a string", name)
    if model is not None and not hasattr(model, "is_a"):
        rule = "model must be a click model, for example one of clickrank.clickmodels"
        raise invalid("policy", rule, model)
    cls = POLICIES[name]
    fields = {field.name: field for field in settings_of(cls)}
    for key in settings:
        if key not in fields:
            rule = f"unknown parameter {key!r}; it has {', '.join(fields) or 'none'}"
            raise invalid(cls.__name__, rule)
    for key in (*cls.assumes.known, *(["features"] if cls.assumes.features else [])):
        if key not in settings and hasattr(model, key):
            found = getattr(model, key)
            settings[key] = found() if callable(found) else found
    if cls.assumes.horizon and "horizon" not in settings and horizon is not None:
        settings["horizon"] = horizon
    for key, field in fields.items():
        required = field.default is dataclasses.MISSING
        if required and field.default_factory is dataclasses.MISSING and key not in settings:
            without = "" if model is None else f", which click model {model.name!r} does not have"
            raise does_not_apply(
                cls.__name__, f"{key} must be given{without}", _how_to_give(cls, key)
            )
    return cls(**settings, reference=reference)


def _how_to_give(cls: type[Policy], key: str) -> str:
    """Return a sentence that shows how a setting is given, to `policy` or to a ranker."""
    if key != "click_model":
        return f"Give it, as in clickrank.policy({cls.name!r}, {key}=...)."
    choices = [repr(model) for model in cls.assumes.click_models]
    given = f"click_model={choices[0]}"
    return (
        f"Give the one that is closest to how people click, {', '.join(choices[:-1])} or "
        f"{choices[-1]}, as in clickrank.policy({cls.name!r}, {given}) or "
        f"clickrank.Ranker({cls.name!r}, items, n_positions, {given})."
    )


def set_probabilities(spec: Policy, field: str, low_open: bool = True) -> None:
    """Check a spec's vector of probabilities and store it as a tuple, to compare and hash specs."""
    owner = type(spec).__name__
    values = probabilities(owner, field, getattr(spec, field))
    if low_open and not (values > 0).all():
        where = int(np.argmin(values))
        raise invalid(owner, f"{field}[{where}] must be above 0", float(values[where]))
    object.__setattr__(spec, field, tuple(values.tolist()))


def check_failure(spec: Policy, horizon: int | None, failure: float | None) -> None:
    """Check the number of rounds and the probability of failure, of which one must be given."""
    owner = type(spec).__name__
    if horizon is not None:
        check_int(owner, "horizon", horizon, 1)
    elif failure is None:
        raise invalid(owner, "horizon must be given, or failure", horizon)
    if failure is not None and check_float(owner, "failure", failure, 0.0, 1.0) == 0.0:
        raise invalid(owner, "failure must be above 0", failure)


def satisfaction_unknown(given: Vector | None, model: KnownModel) -> str | None:
    """Return why a policy without `satisfaction` does not fit: it assumes that this decreases."""
    satisfaction = [float(x) for x in getattr(model, "satisfaction", ())]
    if given is None and any(b > a for a, b in itertools.pairwise(satisfaction)):
        return f"without satisfaction, it assumes that this decreases, not {satisfaction}"
    return None


def check_length(spec: Policy, field: str, n_positions: int) -> Floats:
    """Return a spec's vector with one entry per position as an array, checking its length."""
    values: Floats = np.array(getattr(spec, field), dtype=np.float64)
    if values.size != n_positions:
        rule = f"{field} must have one entry per position ({n_positions})"
        raise invalid(type(spec).__name__, rule, values.size)
    return values


def check_items(spec: Policy, field: str, n_items: int) -> Floats:
    """Return a spec's vector with one entry per item as an array, checking its length."""
    values: Floats = np.array(getattr(spec, field), dtype=np.float64)
    if values.size != n_items:
        rule = f"{field} must have one entry per item ({n_items})"
        raise invalid(type(spec).__name__, rule, values.size)
    return values
