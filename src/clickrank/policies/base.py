"""The contract of a policy: a frozen spec, a NamedTuple state, and two kernels.

    rank(params, state, rng, ranking, memo)        writes a ranking, and what to remember of it
    update(params, state, ranking, memo, clicks)   the only thing that changes the statistics

`rank` may change the scratch fields of the state, never its statistics: so many rankings can be in
flight before the first feedback arrives, and replaying the log rebuilds the state.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np

from clickrank._jit import code_of as key_of_code
from clickrank._jit import generic, named_tuple_class, source_key, tell_apart
from clickrank.errors import DoesNotApply, InvalidValue, invalid
from clickrank.policies.lists import Lists
from clickrank.registry import Registry
from clickrank.types import Floats, Ints, Vector, probabilities, statistic_fields

if TYPE_CHECKING:
    from clickrank.policies.chooser import Chooser

P = TypeVar("P", bound="Policy")


class KnownModel(Protocol):
    """What a policy may ask of a click model: its kind, and whatever its spec says it knows."""

    @property
    def name(self) -> str:
        """Its registered name."""

    @property
    def is_a(self) -> tuple[str, ...]:
        """Names of the click models of which it is a special case, itself included."""

    @property
    def n_positions(self) -> int:
        """How many positions its lists have."""


@dataclasses.dataclass(frozen=True)
class Assumes:
    """What a policy takes for granted.

    Parameters
    ----------
    click_models
        Names of the click models its guarantee covers; empty means any.
    known
        Parameters of the page it must be told ("examination", "position_bias", ...). Each is a
        field of the spec, and is filled from the click model of that attribute when left open.
    horizon
        Whether it must be told the number of rounds.
    features
        Whether it needs a feature vector for each item: a field ``features`` of the spec, filled
        from a click model whose attraction comes from features when left open.
    priors
        Whether it accepts prior knowledge about items.
    positions
        Which positions are looked at most: "any", the "first", or each more than the next
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
    """The spec of a policy: its hyper-parameters, checked when it is made, and never changed.

    A subclass is a frozen dataclass that defines `params` and `init`, and is made known with
    `register`. See ``docs/developer/adding-a-policy.md``.
    """

    name: ClassVar[str]
    assumes: ClassVar[Assumes]
    #: Whether it should beat uniform rankings; the checks hold it to either answer.
    beats_uniform: ClassVar[bool] = True
    #: In how many rounds of the checks' easy instance that must show.
    learns_within: ClassVar[int] = 3000
    #: Names of the state fields with one row per item, or some rows one after the other for each.
    #: Set this only if an item's statistics mean the same whatever other items there are. All other
    #: statistics are in `by_pair`, are the same for all catalogues, or are set by `mend`. None:
    #: items cannot be added or left out.
    by_item: ClassVar[tuple[str, ...] | None] = None
    #: Names of the state fields with one row and one column per item, under the same condition.
    by_pair: ClassVar[tuple[str, ...]] = ()
    #: What to know before choosing the policy, one sentence or more each: shown wherever policies
    #: are listed.
    cautions: ClassVar[tuple[str, ...]] = ()
    #: Whether what `rank` leaves in the scratch has a say in which list comes next, before any
    #: feedback: a particle that walks, a deck that is being dealt. Not so for caches.
    rank_remembers: ClassVar[bool] = False

    @abc.abstractmethod
    def params(self, n_items: int, n_positions: int) -> Any:
        """Return the NamedTuple of constants that the kernels read."""

    @abc.abstractmethod
    def init(self, n_items: int, n_positions: int) -> Any:
        """Return the state before the first round, a NamedTuple of arrays."""

    def memo_size(self, n_items: int, n_positions: int) -> int:
        """Return how many whole numbers must be remembered of one ranking to learn from it."""
        return 0

    def memo_limit(self, n_items: int) -> int:
        """Return what the numbers of a memo are below: they come from outside, and are checked."""
        return n_items

    def relabelled(self: P, origin: Ints, new: Any = None) -> P:
        """Return the spec for a catalogue whose item i is this spec's item ``origin[i]``.

        -1 stands for an item that is new. ``new`` is what the spec must know of these, in their
        order: their prior, features or scores.
        """
        if new is not None:
            takers = sorted(name for name, cls in POLICIES.items() if _tells_items_apart(cls))
            rule = f"nothing can be told of new items (only to {', '.join(takers)})"
            raise invalid(type(self).__name__, rule, new)
        return self

    def unpacked(self, state: Any) -> Any:
        """Return the state itself, or a copy in which `by_item` and `by_pair` hold everything."""
        return state

    def relabelled_positions(self: P, order: Ints) -> P:
        """Return the spec for a page whose position k is this spec's position ``order[k]``."""
        changed: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            values = getattr(self, field.name)
            if field.name in BY_POSITION and values is not None:
                changed[field.name] = [values[k] for k in order]
        return dataclasses.replace(self, **changed) if changed else self

    def mend(self, state: Any, numbers: Ints) -> None:  # noqa: B027 (nothing to do is an answer)
        """Set what is neither by item nor the same for all catalogues, in a state just carried.

        ``numbers[i]`` is what the old item i has become, -1 if it is gone. See `by_item`.
        """

    def walk_on(self, state: Any, former: Any) -> None:  # noqa: B027 (nothing to do is an answer)
        """Take over scratch that is more than a cache, from a state of the first of its items.

        ``former`` may be in use by another thread, so that what is read of it may not fit.
        """

    def dropped(self, state: Any) -> Ints | None:
        """Return the items that a state will never show again: without them it goes on as it is.

        None if the policy drops no items for good. Of no use with `by_item`.
        """
        return None

    def best_of(self, state: Any, allowed: Ints) -> Ints | None:
        """Return the best list of some items by what `rank` drew last.

        None if for that the policy must rank with a state of these items alone.
        """
        return None

    def lists(self, chooser: Chooser) -> Lists | None:
        """Return the exact distribution of the next list where it is known, else None.

        Not needed where `rank` draws no random number: that is found out.
        """
        return None

    def memos_for(self, memos: Ints, numbers: Ints, n_items: int) -> Ints | None:
        """Return memos, one per row, for another catalogue, of ``n_items``.

        ``numbers[i]`` is the number that item i has there, -1 if it is gone; a memo that cannot do
        without it then holds -1.
        None if a memo says something only to the catalogue that it was made for.
        """
        return memos if self.by_item is not None or memos.shape[1] == 0 else None

    def warnings(self) -> list[str]:
        """Return those of the `cautions` that concern the policy with these settings."""
        return []

    def why_not(self, model: KnownModel) -> str | None:
        """Say why the policy's assumptions do not hold for a click model; None if they do."""
        covered = self.assumes.click_models
        if covered and not set(covered) & set(model.is_a):
            return f"it assumes {' or '.join(covered)} clicks, not {model.name}"
        examination = [float(x) for x in getattr(model, "examination", ())]
        order = self.assumes.positions
        if order == "one" and model.n_positions > 1:
            return f"it assumes that there is one position, not {model.n_positions}"
        if order == "first" and any(x > examination[0] for x in examination):
            return f"it assumes that the first position is looked at most, not {examination}"
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


def _tells_items_apart(cls: type[Policy]) -> bool:
    return bool({"prior", "features", "scores"} & {field.name for field in dataclasses.fields(cls)})


POLICIES: Registry[Policy] = Registry("policy")
_RANK: dict[type, Callable[..., None]] = {}
_UPDATE: dict[type, Callable[..., None]] = {}
_LEAN: set[type] = set()
_STATES: dict[type[Policy], type] = {}
_SOURCES: dict[type[Policy], str | None] = {}


def register(
    cls: type[Policy],
    state: type,
    rank: Callable[..., None],
    update: Callable[..., None],
    lean: bool = False,
) -> None:
    """Make a policy known by its name, and its kernels to compiled code.

    Kernels that make no array can be ``lean``, which saves time for a state of many fields.
    """
    if not statistic_fields(state):
        raise invalid(cls.__name__, "the state must have a field marked as statistic", state)
    tell_apart(state)
    POLICIES.add(cls.name, cls)
    _RANK[state] = rank
    _UPDATE[state] = update
    if lean:
        _LEAN.add(state)
    _STATES[cls] = state
    _SOURCES[cls] = source_key(cls)


def source_of(policy: Policy) -> str | None:
    """Name the source of the policy's class, which decides what is simulated: see `source_key`."""
    _state_class(type(policy))
    return _SOURCES[type(policy)]


def code_of(policy: Policy) -> str | None:
    """Name the machine code of the policy's kernels, see `clickrank._jit.code_of`."""
    return _code_of(type(policy))


@functools.cache
def _code_of(cls: type[Policy]) -> str | None:
    state = _state_class(cls)
    return key_of_code(_SOURCES[cls], state, _RANK[state], _UPDATE[state], state in _LEAN)


def _state_class(cls: type[Policy]) -> type:
    if cls not in _STATES:
        raise invalid(cls.__name__, "the class must be made known with register", cls)
    return _STATES[cls]


def policy(
    name: str, *, model: KnownModel | None = None, horizon: int | None = None, **settings: Any
) -> Policy:
    """Make a registered policy by name.

    What the policy must know and the call leaves open is taken from ``model`` and ``horizon``.

    >>> policy("pbm-ucb", examination=[1.0, 0.5])
    PBMUCB(examination=(1.0, 0.5), epsilon=0.0)
    >>> policy("pbm-ubc")
    Traceback (most recent call last):
    clickrank.errors.UnknownName: Unknown policy 'pbm-ubc'. Did you mean 'pbm-ucb'?
    """
    if not isinstance(name, str):
        raise invalid("policy", "name must be a string", name)
    if model is not None and not hasattr(model, "is_a"):
        rule = "model must be a click model, as from clickrank.clickmodels"
        raise invalid("policy", rule, model)
    cls = POLICIES[name]
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for key in settings:
        if key not in fields:
            rule = f"{cls.__name__}: unknown parameter {key!r}"
            raise InvalidValue(f"{rule}; it has {', '.join(fields) or 'none'}.")
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
            hint = f"give it, as in clickrank.policy({name!r}, {key}=...)"
            raise DoesNotApply(f"{cls.__name__}: {key} must be given{without}: {hint}.")
    return cls(**settings)


def set_probabilities(spec: Policy, field: str, low_open: bool = True) -> None:
    """Check a spec's vector of probabilities and keep it as a tuple, so specs compare and hash."""
    owner = type(spec).__name__
    values = probabilities(owner, field, getattr(spec, field))
    if low_open and not (values > 0).all():
        where = int(np.argmin(values))
        raise invalid(owner, f"{field}[{where}] must be above 0", float(values[where]))
    object.__setattr__(spec, field, tuple(values.tolist()))


def satisfaction_unknown(told: Vector | None, model: KnownModel) -> str | None:
    """Say that a policy not told a click model's satisfaction takes it to decrease, if wrong."""
    satisfaction = [float(x) for x in getattr(model, "satisfaction", ())]
    if told is None and any(b > a for a, b in itertools.pairwise(satisfaction)):
        return f"not told its satisfaction, it assumes that this decreases, not {satisfaction}"
    return None


def check_length(spec: Policy, field: str, n_positions: int) -> Floats:
    """Return a spec's vector with one entry a position as an array, checking its length."""
    values: Floats = np.array(getattr(spec, field), dtype=np.float64)
    if values.size != n_positions:
        rule = f"{field} must have one entry a position ({n_positions})"
        raise invalid(type(spec).__name__, rule, values.size)
    return values


def check_items(spec: Policy, field: str, n_items: int) -> Floats:
    """Return a spec's vector with one entry an item as an array, checking its length."""
    values: Floats = np.array(getattr(spec, field), dtype=np.float64)
    if values.size != n_items:
        rule = f"{field} must have one entry an item ({n_items})"
        raise invalid(type(spec).__name__, rule, values.size)
    return values


# The two verbs as compiled loops call them, dispatched on the class of ``state``. The bodies run
# when Numba is switched off (NUMBA_DISABLE_JIT=1).


def rank(params: Any, state: Any, rng: np.random.Generator, ranking: Ints, memo: Ints) -> None:
    """Write a ranking and its memo; may change scratch, never statistics."""
    _RANK[type(state)](params, state, rng, ranking, memo)


def update(params: Any, state: Any, ranking: Ints, memo: Ints, clicks: Ints) -> None:
    """Fold one settled impression into the statistics."""
    _UPDATE[type(state)](params, state, ranking, memo, clicks)


def _find(kernels: dict[type, Callable[..., None]], lean: bool) -> Callable[[Any], Any]:
    """Return a function from the Numba type of a state to its kernel, None if of the other kind."""

    def find(state: Any) -> Callable[..., None] | None:
        cls = named_tuple_class(state)
        return kernels[cls] if (cls in _LEAN) == lean else None

    return find


def _make_generic(lean: bool) -> None:
    find_rank, find_update = _find(_RANK, lean), _find(_UPDATE, lean)
    generic(rank, lambda params, state, rng, ranking, memo: find_rank(state), lean)
    generic(update, lambda params, state, ranking, memo, clicks: find_update(state), lean)


_make_generic(lean=False)
_make_generic(lean=True)
