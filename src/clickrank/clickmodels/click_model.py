"""Base class of click models, their registry, and the dispatch of their kernels."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from clickrank._compile.jit import code_of as key_of_code
from clickrank._compile.jit import generic, kernel_for, named_tuple_class, source_key, tell_apart
from clickrank._core.arrays import Floats, Ints, clicks_of, frozen, ranking_of
from clickrank._core.features import Features
from clickrank._core.registry import Registry
from clickrank._core.validate import check_int
from clickrank.clickmodels.attraction import LinearAttraction, attraction_of
from clickrank.errors import DoesNotApply, invalid

M = TypeVar("M", bound="ClickModel")
P = ParamSpec("P")
R = TypeVar("R")


class Kernels(NamedTuple):
    """The functions of one click model, which are compiled into their callers.

    The first argument is the model's ``params``, a NamedTuple; a ranking is an int64 vector of
    items. ``sample``, ``click_probabilities`` and ``best_ranking`` write to their last argument.
    """

    sample: Callable[[Any, Ints, np.random.Generator, Ints], None]
    log_prob: Callable[[Any, Ints, Ints], float]
    click_probabilities: Callable[[Any, Ints, Floats], None]
    value: Callable[[Any, Ints], float]
    best_ranking: Callable[[Any, Ints], None]


class ClickModel(abc.ABC):
    """Base class of click models: how people click on a ranking.

    A subclass validates its parameters in ``__init__``, sets ``n_items`` and ``n_positions``,
    stores a NamedTuple of arrays in ``params``, and registers its kernels with ``register``.
    """

    name: ClassVar[str]
    #: The reward that ``value`` is the expectation of: "clicks", "any click" or "satisfaction".
    reward: ClassVar[str]
    #: Names of the click models of which this one is a special case, itself included.
    is_a: ClassVar[tuple[str, ...]]
    #: Whether the order of the positions matters, as in models of people who read from the top. It
    #: does not if each position has its own parameters and no position comes before another.
    reads_in_order: ClassVar[bool] = True
    #: Rank by the number of parameters besides attractions: of models that explain a log equally
    #: well, the one with the smallest rank is preferred.
    complexity: ClassVar[int] = 100
    #: Names of its special cases that its fit to a log can rule out.
    excludes: ClassVar[tuple[str, ...]] = ()
    #: Whether a click depends on nothing at the other positions, so that displays and clicks by
    #: position suffice to fit the model. Others are fitted to whole lists.
    independent_positions: ClassVar[bool] = False
    #: Which displays of a log were examined: "all", those with "no click above", or those at a
    #: position with a probability, the parameter ``examination`` ("by position"). Empty if displays
    #: do not say enough.
    examined_displays: ClassVar[Literal["", "all", "no click above", "by position"]] = ""
    #: Whether `clickrank.advice.diagnose` reports its position effects even if another model
    #: predicts clicks better: they are the ones that people know and compare.
    always_reported: ClassVar[bool] = False
    #: Names of click models that a policy may assume instead if it does not support this one, the
    #: closest first.
    stand_ins: ClassVar[tuple[str, ...]] = ()
    n_items: int
    n_positions: int
    params: Any

    @property
    def click_model(self) -> str:
        """The name of the click model, for policies that must know how people click."""
        return self.name

    @abc.abstractmethod
    def relabelled(self: M, order: Ints) -> M:
        """Return the model whose item i is this model's item ``order[i]``."""

    def first_positions(self: M, n_positions: int) -> M:
        """Return the model of the first positions of the page alone.

        It raises `DoesNotApply` if clicks there depend on the items below.
        """
        raise DoesNotApply(
            f"{type(self).__name__}: clicks at the first positions depend on the items below, so "
            "that there is no model of the first positions alone."
        )

    def shortened(self: M, n_positions: int) -> M:
        """Return the model of a page that ends after the first positions: nothing is shown below.

        It equals `first_positions`, unless clicks depend on the items below.
        """
        return self.first_positions(n_positions)

    def sample(
        self, ranking: ArrayLike, rng: np.random.Generator | int, n: int | None = None
    ) -> Ints:
        """Draw click vectors: shape (n_positions,), or (n, n_positions) if ``n`` is given."""
        shown = self._ranking(ranking)
        size = 1 if n is None else check_int(type(self).__name__, "n", n, 0)
        out = np.zeros((size, self.n_positions), dtype=np.int64)
        self._compiled(_sample_many)(self.params, shown, np.random.default_rng(rng), out)
        return out[0] if n is None else out

    def log_prob(self, ranking: ArrayLike, clicks: ArrayLike) -> float:
        """Return the log-probability of a click vector; minus infinity if it is impossible."""
        vector = clicks_of(type(self).__name__, clicks, self.n_positions)
        return float(self._compiled(_log_prob_once)(self.params, self._ranking(ranking), vector))

    def click_probabilities(self, ranking: ArrayLike) -> Floats:
        """Return the probability of a click at each position."""
        out = np.zeros(self.n_positions)
        self._compiled(_click_probabilities_once)(self.params, self._ranking(ranking), out)
        return out

    def value(self, ranking: ArrayLike) -> float:
        """Return the expected reward of a ranking; ``reward`` names the kind of reward."""
        return float(self._compiled(_value_once)(self.params, self._ranking(ranking)))

    def best_ranking(self) -> Ints:
        """Return a ranking with the largest value."""
        out = np.zeros(self.n_positions, dtype=np.int64)
        self._compiled(_best_ranking_once)(self.params, out)
        return out

    def best_value(self) -> float:
        """Return the value of the best ranking."""
        return self.value(self.best_ranking())

    def _compiled(self, function: Callable[P, R]) -> Callable[P, R]:
        return kernel_for(function, code_of(self))

    def _ranking(self, ranking: ArrayLike) -> Ints:
        return ranking_of(type(self).__name__, ranking, self.n_items, self.n_positions)

    def _shorter(self, n_positions: object) -> int:
        """Return a checked number of positions, at most that of the page."""
        return check_int(type(self).__name__, "n_positions", n_positions, 1, self.n_positions)

    def _set_shape(self, attraction: ArrayLike | LinearAttraction, n_positions: object) -> None:
        """Set the attraction and the numbers of items and positions, and check that they match.

        A model whose attraction is linear in features has an attribute ``features``.
        """
        owner = type(self).__name__
        values = attraction_of(owner, attraction)
        positions = check_int(owner, "n_positions", n_positions, 1)
        if positions > values.size:
            rule = f"n_positions must be between 1 and n_items ({values.size})"
            raise invalid(owner, rule, positions)
        self.n_items = int(values.size)
        self.n_positions = positions
        self.attraction: Floats = frozen(values)
        if isinstance(attraction, LinearAttraction):
            self.features = Features(attraction.features)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copied or unpickled model, with read-only arrays.

        For compiled code, writable arrays have another type, and everything would be compiled
        again.
        """
        self.__dict__.update(state)
        for array in (*state.values(), *self.params):
            if isinstance(array, np.ndarray):
                frozen(array)

    def __repr__(self) -> str:
        """Show the model's name and shape; its parameters may be long."""
        return f"{type(self).__name__}(n_items={self.n_items}, n_positions={self.n_positions})"


CLICK_MODELS: Registry[ClickModel] = Registry("click model")
_PARAMS: dict[type[ClickModel], type] = {}
_KERNELS: dict[type, Kernels] = {}
_SOURCES: dict[type, str | None] = {}


def register(cls: type[ClickModel], params: type, kernels: Kernels) -> None:
    """Register a click model by its name, and its kernels for compiled code."""
    tell_apart(params)
    CLICK_MODELS.add(cls.name, cls)
    _PARAMS[cls] = params
    _KERNELS[params] = kernels
    _SOURCES[params] = source_key(cls)


def register_special_case(cls: type[ClickModel], general: type[ClickModel]) -> None:
    """Register a click model that uses the parameters and the kernels of a more general one."""
    CLICK_MODELS.add(cls.name, cls)
    _PARAMS[cls] = _PARAMS[general]


def model_kernels(cls: type[ClickModel]) -> tuple[type, Kernels]:
    """Return the class of a model's parameters, and its functions that are compiled."""
    return _PARAMS[cls], _KERNELS[_PARAMS[cls]]


def source_of(model: ClickModel) -> str | None:
    """Return the key of the source of the model's class: see `source_key`."""
    return _SOURCES[type(model.params)]


def code_of(model: ClickModel) -> str | None:
    """Return the key of the machine code of its kernels: see `clickrank._compile.jit.code_of`."""
    params: type = type(model.params)
    return _code_of(params)


@functools.cache
def _code_of(params: type) -> str | None:
    return key_of_code(_SOURCES[params], params, *_KERNELS[params])


# The functions that compiled loops call. Each is dispatched on the class of ``params``. The bodies
# run if Numba is disabled (NUMBA_DISABLE_JIT=1).


def sample(params: Any, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    """Draw one click vector into ``out``, always with the same number of uniform draws."""
    _KERNELS[type(params)].sample(params, ranking, rng, out)


def log_prob(params: Any, ranking: Ints, clicks: Ints) -> float:
    """Return the log-probability of a click vector."""
    return _KERNELS[type(params)].log_prob(params, ranking, clicks)


def click_probabilities(params: Any, ranking: Ints, out: Floats) -> None:
    """Write the click probability of each position into ``out``."""
    _KERNELS[type(params)].click_probabilities(params, ranking, out)


def value(params: Any, ranking: Ints) -> float:
    """Return the expected reward of a ranking."""
    return _KERNELS[type(params)].value(params, ranking)


def best_ranking(params: Any, out: Ints) -> None:
    """Write a ranking with the largest value into ``out``."""
    _KERNELS[type(params)].best_ranking(params, out)


generic(sample, lambda params, ranking, rng, out: _KERNELS[named_tuple_class(params)].sample)
generic(log_prob, lambda params, ranking, clicks: _KERNELS[named_tuple_class(params)].log_prob)
generic(
    click_probabilities,
    lambda params, ranking, out: _KERNELS[named_tuple_class(params)].click_probabilities,
)
generic(value, lambda params, ranking: _KERNELS[named_tuple_class(params)].value)
generic(best_ranking, lambda params, out: _KERNELS[named_tuple_class(params)].best_ranking)


def _sample_many(params: Any, ranking: Ints, rng: np.random.Generator, out: Ints) -> None:
    for i in range(out.shape[0]):
        sample(params, ranking, rng, out[i])


def _log_prob_once(params: Any, ranking: Ints, clicks: Ints) -> float:
    return log_prob(params, ranking, clicks)


def _click_probabilities_once(params: Any, ranking: Ints, out: Floats) -> None:
    click_probabilities(params, ranking, out)


def _value_once(params: Any, ranking: Ints) -> float:
    return value(params, ranking)


def _best_ranking_once(params: Any, out: Ints) -> None:
    best_ranking(params, out)
