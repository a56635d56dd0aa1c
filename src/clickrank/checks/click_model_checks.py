"""Checks of click models by enumeration: every ranking, and every click vector of each.

A check takes an instance with few items and positions (4 × 3 is plenty) and raises AssertionError
with the model, the rule and the numbers. ``check_click_model`` runs all checks.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np
from scipy import special

from clickrank._core.arrays import Floats, Ints
from clickrank.clickmodels import ClickModel
from clickrank.errors import InvalidValue, invalid

M = TypeVar("M", bound=ClickModel)

#: Absolute tolerance for sums of a few dozen products in float64.
TOLERANCE = 1e-12
#: Probability that ``check_sampler`` rejects a correct sampler, over all its comparisons.
FALSE_ALARM = 1e-6

_DRAWS = 20_000
_SOME_RANKINGS = 24
_MOST_PAIRS = 100_000
_REWARDS = ("clicks", "any click", "satisfaction")
# Parameters of constructors with one entry per position, and the smallest value of each.
_POSITION_EFFECTS = {"examination": 0.0, "satisfaction": 0.0, "position_bias": 0.01}
# The other parameters for which examples can be made.
_OTHERS = (
    "attraction",
    "continuation",
    "examination_after",
    "item_satisfaction",
    "n_positions",
    "probabilities",
)


def check_click_model(model: ClickModel) -> None:
    """Run all checks.

    >>> from clickrank.clickmodels import PBM
    >>> check_click_model(PBM(attraction=[0.5, 0.2, 0.4], examination=[0.5, 1.0]))
    """
    for check in CLICK_MODEL_CHECKS:
        check(model)


def check_declarations(model: ClickModel) -> None:
    """Name, reward, special cases and shape are declared with known words."""
    rule = "declarations"
    if model.name not in model.is_a:
        _fail(model, rule, f"is_a {model.is_a} lacks the model's own name {model.name!r}")
    if model.reward not in _REWARDS:
        _fail(model, rule, f"reward {model.reward!r} is none of {', '.join(_REWARDS)}")
    if not 1 <= model.n_positions <= model.n_items:
        _fail(model, rule, f"{model.n_positions} positions do not fit {model.n_items} items")


def check_probabilities_sum_to_one(model: ClickModel) -> None:
    """The probabilities of all click vectors sum to one."""
    for ranking in _rankings(model):
        p = _probabilities(model, ranking)
        if not (p <= 1.0 + TOLERANCE).all():  # fails for NaN, too
            _fail(model, "probabilities sum to one", f"{p.tolist()} for {ranking.tolist()}")
        _agree(model, "probabilities sum to one", ranking, p.sum(), 1.0)


def check_marginals(model: ClickModel) -> None:
    """``click_probabilities`` are the marginals of ``log_prob``."""
    vectors = _click_vectors(model)
    for ranking in _rankings(model):
        marginals = _probabilities(model, ranking) @ vectors
        _agree(model, "marginals", ranking, model.click_probabilities(ranking), marginals)


def check_value(model: ClickModel) -> None:
    """``value`` is the expectation of the declared ``reward``, as far as clicks determine it."""
    clicks = _click_vectors(model).sum(axis=1)
    rule = f"value is the expected {model.reward}"
    for ranking in _rankings(model):
        p = _probabilities(model, ranking)
        value, any_click = model.value(ranking), float(p[clicks > 0].sum())
        if model.reward == "clicks":
            _agree(model, rule, ranking, value, p @ clicks)
        elif model.reward == "any click":
            _agree(model, rule, ranking, value, any_click)
        elif not -TOLERANCE <= value <= any_click + TOLERANCE:
            # Clicks do not show satisfaction, but nobody is satisfied without a click.
            place = f"for {ranking.tolist()}"
            _fail(model, rule, f"{value!r} is not between 0 and P(any click) {any_click!r} {place}")


def check_best_ranking(model: ClickModel) -> None:
    """``best_ranking`` is a ranking, and none has a larger value."""
    rule = "best ranking"
    best = model.best_ranking()
    if best.dtype != np.int64 or best.tolist() not in [r.tolist() for r in _rankings(model)]:
        _fail(model, rule, f"{best!r} is not an int64 vector of {model.n_positions} distinct items")
    _agree(model, rule, best, model.value(best), max(model.value(r) for r in _rankings(model)))
    _agree(model, "best value", best, model.best_value(), model.value(best))


def check_relabelling(model: ClickModel) -> None:
    """Items have no identity: relabelling the items gives the same model with other labels."""
    rule = "relabelling"
    labels = np.arange(model.n_items)
    for order in (labels, labels[::-1].copy(), np.roll(labels, 1)):
        other = model.relabelled(order)
        if type(other) is not type(model) or other.n_positions != model.n_positions:
            _fail(model, rule, f"relabelled returned {other!r}")
        for ranking in _rankings(model):
            shown = order[ranking]
            _agree(model, rule, shown, other.value(ranking), model.value(shown))
            marginals = model.click_probabilities(shown)
            _agree(model, rule, shown, other.click_probabilities(ranking), marginals)


def check_sampler(model: ClickModel) -> None:
    """``sample`` draws click vectors with the probabilities of ``log_prob``.

    The count of each vector is tested by its exact binomial distribution (Bonferroni over vectors
    and rankings), so that the stated rate of false alarms also holds if few draws are expected.
    """
    vectors = _click_vectors(model)
    rankings = _some_rankings(model)
    level = FALSE_ALARM / (len(rankings) * len(vectors))
    for seed, ranking in enumerate(rankings):
        p = np.minimum(_probabilities(model, ranking), 1.0)
        clicks = model.sample(ranking, seed, _DRAWS)
        if clicks.shape != (_DRAWS, model.n_positions) or not np.isin(clicks, (0, 1)).all():
            _fail(model, "sampler", f"shape {clicks.shape}, values {np.unique(clicks).tolist()}")
        codes = clicks @ (1 << np.arange(model.n_positions)[::-1])  # the row of ``vectors``
        counts = np.bincount(codes, minlength=len(vectors))
        tails = np.minimum(special.bdtr(counts, _DRAWS, p), special.bdtrc(counts - 1, _DRAWS, p))
        worst = int(np.argmin(tails))
        if not 2.0 * tails[worst] >= level:
            drawn = f"{vectors[worst].tolist()} drawn {counts[worst]} times in {_DRAWS}"
            wanted = f"expected {_DRAWS * p[worst]:.1f} for {ranking.tolist()}"
            _fail(model, "sampler", f"{drawn}, {wanted} (tail {tails[worst]:.1e})")


def check_same_seed(model: ClickModel) -> None:
    """The same seed gives the same clicks, drawn at once or one by one."""
    for ranking in _some_rankings(model)[:4]:
        one, two = (model.sample(ranking, 7, 40) for _ in range(2))
        rng = np.random.default_rng(7)
        single = np.array([model.sample(ranking, rng) for _ in range(40)])
        for again in (two, single):
            if not np.array_equal(one, again):
                first = int(np.argmax((one != again).any(axis=1)))
                drawn = f"draw {first}: {one[first].tolist()}, then {again[first].tolist()}"
                _fail(model, "same seed, same clicks", f"{drawn} for {ranking.tolist()}")


def check_uniforms(model: ClickModel) -> None:
    """A round takes a fixed number of uniforms, whatever is shown and clicked.

    Paired comparisons depend on it: user t is the same user for every policy.
    """
    most = 64 * (model.n_positions + 1)
    taken: dict[int, str] = {}
    for ranking in _some_rankings(model):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            clicks = model.sample(ranking, rng)
            # The position of the next uniform in the stream of the seed.
            found = np.flatnonzero(np.random.default_rng(seed).random(most) == rng.random())
            where = f"ranking {ranking.tolist()}, clicks {clicks.tolist()}"
            if found.size == 0:
                _fail(model, "fixed number of uniforms", f"not 0 to {most - 1} for {where}")
            taken.setdefault(int(found[0]), where)
    if len(taken) > 1:
        _fail(
            model, "fixed number of uniforms", "; ".join(f"{n} for {w}" for n, w in taken.items())
        )


def check_inputs_untouched(model: ClickModel) -> None:
    """Arguments are not changed and may be read-only, and answers belong to the caller."""
    rule = "inputs untouched"
    for ranking in _some_rankings(model)[:4]:
        clicks = model.sample(ranking, 0)
        copies = ranking.copy(), clicks.copy()
        for array in copies:
            array.flags.writeable = False  # a kernel that writes to it fails or is noticed below
        for verb, call in _verbs(model, copies[1]).items():
            answers = [call(x) for x in (copies[0], ranking.tolist(), ranking)]
            if not all(np.array_equal(answers[0], answer) for answer in answers):
                _fail(model, rule, f"{verb} depends on how {ranking.tolist()} is passed: {answers}")
        if not np.array_equal(copies[0], ranking) or not np.array_equal(copies[1], clicks):
            _fail(model, rule, f"{ranking.tolist()}, {clicks.tolist()} became {copies}")
        for name, answer in (
            ("sample", lambda ranking=ranking: model.sample(ranking, 0)),
            ("click_probabilities", lambda ranking=ranking: model.click_probabilities(ranking)),
            ("best_ranking", model.best_ranking),
        ):
            mine, before = answer(), answer().copy()
            mine[:] = -1
            if not np.array_equal(answer(), before):
                _fail(model, rule, f"changing the answer of {name} changes the next answer")


def check_bad_input(model: ClickModel) -> None:
    """An invalid ranking or click vector raises InvalidValue with the rule and the value."""
    good = list(range(model.n_positions))
    bad_rankings: list[Any] = [
        good[:-1],
        [*good, 0],
        [-1, *good[1:]],
        [*good[:-1], model.n_items],
        [float(item) for item in good],
        [good],
        ["a"] * model.n_positions,
        None,
    ]
    if model.n_positions > 1:
        bad_rankings.append([*good[:-1], good[0]])
    none = [0] * model.n_positions
    for bad in bad_rankings:
        for verb, call in _verbs(model, np.array(none)).items():
            _expect_invalid(model, verb, "ranking", bad, call)
    for bad in ([2, *none[1:]], [-1, *none[1:]], none[:-1], [*none, 0], [0.0] * len(none), "no"):
        _expect_invalid(model, "log_prob", "clicks", bad, lambda bad: model.log_prob(good, bad))
    _expect_invalid(model, "sample", "n", -1, lambda bad: model.sample(good, 0, bad))


#: All checks, in the order in which ``check_click_model`` runs them.
CLICK_MODEL_CHECKS: tuple[Callable[[ClickModel], None], ...] = (
    check_declarations,
    check_probabilities_sum_to_one,
    check_marginals,
    check_value,
    check_best_ranking,
    check_relabelling,
    check_sampler,
    check_same_seed,
    check_uniforms,
    check_inputs_untouched,
    check_bad_input,
)


def example_models(cls: type[M], n_items: int, n_positions: int, seed: int) -> list[M]:
    """Return instances of a click model that together reach the corners of its parameter space.

    >>> from clickrank.clickmodels import DCM
    >>> example_models(DCM, n_items=3, n_positions=2, seed=0)[0]
    DCM(n_items=3, n_positions=2)
    """
    build: Any = cls
    return [build(**each) for each in example_parameters(cls, n_items, n_positions, seed)]


def example_parameters(
    cls: type[ClickModel], n_items: int, n_positions: int, seed: int
) -> list[dict[str, Any]]:
    """Return arguments for the constructor of a click model, according to the parameters' names.

    Position effects decrease, increase, or reach the ends of their range; attractions are inside
    (0, 1), tied, or exactly 0 and 1.
    """
    rng = np.random.default_rng(seed)
    inside = rng.uniform(0.05, 0.95, n_items)
    tied = np.where(np.arange(n_items) % 2 == 0, 0.5, 0.25)
    extreme = inside.copy()
    extreme[0], extreme[-1] = 0.0, 1.0  # the only item of a single-item model is always clicked
    zero = np.zeros(n_items)
    effects = np.sort(rng.uniform(0.05, 0.95, n_positions))
    ends = np.linspace(0.0, 1.0, n_positions)[rng.permutation(n_positions)]
    known = {*_OTHERS, *_POSITION_EFFECTS}
    wanted = []
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in known:
            wanted.append(parameter.name)
        elif parameter.default is parameter.empty:
            rule = f"parameters must be among {', '.join(sorted(known))} for examples to be made"
            hint = "make instances and pass them to check_click_model"
            raise invalid(cls.__name__, f"{rule} (otherwise {hint})", parameter.name)
    out = []
    for attraction, by_position in (
        (inside, effects[::-1]),
        (inside, effects),
        (tied, np.ones(n_positions)),
        (extreme, ends),
        (zero, effects),
    ):
        values: dict[str, Any] = {"attraction": attraction.copy(), "n_positions": n_positions}
        for name, least in _POSITION_EFFECTS.items():
            values[name] = np.maximum(by_position, least)
        # Drawn last, so that the parameters of other models do not change.
        values["item_satisfaction"] = rng.permutation(attraction)
        values["continuation"] = float(by_position[-1])
        after = by_position[:, None] ** rng.uniform(0.0, 2.0, (n_positions, n_positions))
        values["examination_after"] = np.tril(after)
        values["probabilities"] = attraction[:, None] ** rng.uniform(
            0.0, 2.0, (n_items, n_positions)
        )
        out.append({name: values[name] for name in wanted})
    return out


def has_position_effects(cls: type[ClickModel]) -> bool:
    """Return whether positions may differ: the constructor takes one number per position.

    >>> from clickrank.clickmodels import DCTR, PBM
    >>> has_position_effects(PBM), has_position_effects(DCTR)
    (True, False)
    """
    return any(name in _POSITION_EFFECTS for name in inspect.signature(cls).parameters)


def _rankings(model: ClickModel) -> list[Ints]:
    pairs = math.perm(model.n_items, model.n_positions) << model.n_positions
    if pairs > _MOST_PAIRS:
        rule = f"a model to check must have at most {_MOST_PAIRS} pairs of ranking and click vector"
        raise invalid(type(model).__name__, rule, pairs)
    every = itertools.permutations(range(model.n_items), model.n_positions)
    return [np.array(ranking, dtype=np.int64) for ranking in every]


def _some_rankings(model: ClickModel) -> list[Ints]:
    """Return rankings spread evenly over all of them, for slow checks."""
    every = _rankings(model)
    step = max(1, len(every) // _SOME_RANKINGS)
    return every[::step][:_SOME_RANKINGS]


def _click_vectors(model: ClickModel) -> Ints:
    """Return all click vectors, one per row, in the order of the binary numbers they represent."""
    return np.array(list(itertools.product((0, 1), repeat=model.n_positions)), dtype=np.int64)


def _probabilities(model: ClickModel, ranking: Ints) -> Floats:
    logs = [model.log_prob(ranking, clicks) for clicks in _click_vectors(model)]
    return np.array([math.exp(x) for x in logs])


def _verbs(model: ClickModel, clicks: Ints) -> dict[str, Callable[[Any], Any]]:
    """Return the methods that take a ranking, as functions of the ranking alone."""
    return {
        "sample": lambda ranking: model.sample(ranking, 0),
        "log_prob": lambda ranking: model.log_prob(ranking, clicks),
        "click_probabilities": model.click_probabilities,
        "value": model.value,
    }


def _expect_invalid(
    model: ClickModel, verb: str, argument: str, bad: object, call: Callable[[Any], object]
) -> None:
    rule = "bad input raises"
    try:
        answer = call(bad)
    except InvalidValue as error:
        begin, end = f"{type(model).__name__}: {argument} must ", f", got {bad!r}."
        if not (str(error).startswith(begin) and str(error).endswith(end)):
            _fail(model, rule, f"{verb} said {str(error)!r}, not {begin + '…' + end!r}")
    except Exception as error:
        _fail(model, rule, f"{verb} raised {error!r} for {argument} {bad!r}, not InvalidValue")
    else:
        _fail(model, rule, f"{verb} took {argument} {bad!r} and answered {answer!r}")


def _agree(
    model: ClickModel,
    rule: str,
    ranking: Ints,
    got: float | Floats | np.floating[Any],
    want: float | Floats | np.floating[Any],
) -> None:
    if not bool(np.all(np.abs(np.asarray(got) - np.asarray(want)) <= TOLERANCE)):  # fails for NaN
        numbers = f"{np.asarray(got).tolist()!r}, expected {np.asarray(want).tolist()!r}"
        _fail(model, rule, f"{numbers} for {ranking.tolist()}")


def _fail(model: ClickModel, rule: str, detail: str) -> NoReturn:
    raise AssertionError(f"{model!r}: {rule}: {detail}")
