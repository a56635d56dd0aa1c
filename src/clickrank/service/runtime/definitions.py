"""Definitions of rankers: made from requests, checked, and turned into policies."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import UNSET

from clickrank.errors import ClickRankError, GivenName, InvalidValue, did_you_mean, invalid
from clickrank.learning import Learner, drops_items, takes_candidates
from clickrank.learning.caches import arrays_in
from clickrank.learning.candidates import can_go_on
from clickrank.learning.catalogue import Catalogue, distinct_items
from clickrank.policies import POLICIES, Policy, policy
from clickrank.policies.capabilities import HasCautions
from clickrank.policies.policy_spec import settings_of
from clickrank.priors import from_ranking
from clickrank.service.schemas.answers import RankerInfo
from clickrank.service.schemas.fields import MOST_ITEMS
from clickrank.service.schemas.requests import (
    NewItems,
    NewRanker,
    Prior,
    RankerChange,
    RetiredItems,
)
from clickrank.service.store.rankers import Definition, RankerRow
from clickrank.stats.beta_prior import Beta

#: Maximum size of the state and cache of one context, in bytes.
MOST_BYTES = 256 * 2**20
#: Settings that have their own fields in a request.
FIELDS = ("prior", "initial")
#: Maximum values of settings that would make visitors wait.
_MOST = {"steps": 1_000, "slots": 2**16}


def policy_of(definition: Definition) -> Policy:
    """Return the policy with its settings, and with its prior or starting list if it has one."""
    settings = dict(definition.settings)
    prior = _prior_of(definition)
    if prior is not None:
        settings["prior"] = prior
    if definition.start is not None:
        settings[POLICIES[definition.policy].starting_list] = definition.start
    return policy(definition.policy, **settings)


def takes_priors(name: str) -> bool:
    """Return whether the policy of that name starts from a prior."""
    return POLICIES[name].assumes.priors


def takes_list(name: str) -> bool:
    """Return whether the policy of that name starts from a list."""
    return bool(POLICIES[name].starting_list)


def define(new: NewRanker) -> Definition:
    """Return the definition of a new ranker, or raise if the request is invalid."""
    name = GivenName(new.name)
    items = _distinct(name, new.items)
    _known_policy(new.policy)
    _check_settings(name, new.policy, new.settings)
    alpha = beta = start = None
    if new.prior is not None:
        if new.start is not None:
            raise invalid(name, "give either prior or start, not both")
        alpha, beta = _prior(name, new.policy, new.prior, len(items))
    elif new.start is not None:
        catalogue = Catalogue(name, items)
        ranking = catalogue.active_numbers(new.start.ranking, "start.ranking")
        if takes_list(new.policy):
            start = ranking
        elif takes_priors(new.policy):
            alpha, beta = _from_ranking(ranking, len(items), new.start.weight)
        else:
            raise _needs_priors(name, new.policy, "start")
    definition = Definition(
        policy=new.policy,
        settings=new.settings,
        n_positions=new.n_positions,
        mode=new.mode,
        items=items,
        alpha=alpha,
        beta=beta,
        start=start,
        log_propensities=new.log_propensities,
    )
    check(name, definition)
    return definition


def changed(row: RankerRow, change: RankerChange) -> tuple[int, Definition]:
    """Return the window and the definition of the next version."""
    definition = row.definition
    window = row.window if change.window is UNSET else change.window * 1_000_000
    fields: dict[str, Any] = {}
    if change.mode is not UNSET:
        fields["mode"] = change.mode
    if change.log_propensities is not UNSET:
        fields["log_propensities"] = change.log_propensities
    name = definition.policy if change.policy is UNSET else change.policy
    _known_policy(name)
    other = name != definition.policy
    settings = (
        ({} if other else definition.settings) if change.settings is UNSET else change.settings
    )
    _check_settings(owner_of(row), name, settings)
    if other or settings != definition.settings:
        version = row.version + 1
        fields |= {"policy": name, "settings": settings}
        fields |= {"since": version, "policy_since": version, "retirements": []}
        if not takes_priors(name):
            fields |= {"alpha": None, "beta": None}
        if not takes_list(name):
            fields["start"] = None
    made = msgspec.structs.replace(definition, **fields)
    check(owner_of(row), made)
    return window, made


def owner_of(row: RankerRow) -> GivenName:
    """Return the name of a ranker, as the owner of errors."""
    return GivenName(row.name)


def catalogue_of(row: RankerRow) -> Catalogue[str]:
    """Return the items of a ranker, including which of them are retired."""
    return Catalogue(owner_of(row), row.definition.items, row.definition.retired)


def with_items(row: RankerRow, new: NewItems) -> Definition:
    """Return the definition with items added, and with retired ones among them brought back."""
    definition, owner = row.definition, owner_of(row)
    items = _distinct(owner, new.items)
    added = catalogue_of(row).with_items(items)
    catalogue, places = added.catalogue, added.new_places
    if len(catalogue.ids) > MOST_ITEMS:
        rule = f"there must be at most {MOST_ITEMS} items, including retired ones"
        raise invalid(owner, rule, len(catalogue.ids))
    fields: dict[str, Any] = {"items": catalogue.ids, "retired": sorted(catalogue.retired)}
    prior = _prior_of(definition)
    if new.prior is not None:
        given = Beta(*_prior(owner, definition.policy, new.prior, len(items)))
        of_new = given.relabelled(np.array(places)) if places else None
        prior = (prior or Beta()).relabelled(added.origin, of_new)
    elif prior is not None:
        prior = prior.relabelled(added.origin)
    if prior is not None:
        alpha, beta = prior.for_items(len(catalogue.ids))
        fields |= {"alpha": alpha.tolist(), "beta": beta.tolist()}
    features = new.features
    if features is not None:
        if "features" not in definition.settings:
            rule = "features must be left out, because the policy uses none"
            raise invalid(owner, rule, definition.policy)
        if len(features) != len(items):
            raise invalid(owner, f"features must have {len(items)} rows", len(features))
        rows = definition.settings["features"] + [features[place] for place in places]
        fields["settings"] = {**definition.settings, "features": rows}
    return _next(row, fields)


def without_items(row: RankerRow, retired: RetiredItems) -> Definition:
    """Return the definition with items retired."""
    return _next(row, {"retired": sorted(catalogue_of(row).without(retired.items).retired)})


def _next(row: RankerRow, fields: dict[str, Any]) -> Definition:
    made = msgspec.structs.replace(row.definition, **fields)
    if made == row.definition:
        return row.definition
    cls = POLICIES[made.policy]
    if not takes_candidates(cls):  # its statistics hold for these items only
        before, version = row.definition, row.version + 1
        gone = sorted({*made.retired} - {*before.retired})
        same_items = made.items == before.items
        # Each context begins again only if necessary.
        if drops_items(cls) and can_go_on(cls, same_items, before.retired, made.retired):
            more: dict[str, Any] = {"retirements": [*before.retirements, (version, gone)]}
        else:
            more = {"since": version, "retirements": []}
        made = msgspec.structs.replace(made, **more)
    check(owner_of(row), made)
    return made


def check(name: GivenName, definition: Definition) -> None:
    """Raise if a ranker with this definition cannot rank."""
    n_items = len(definition.items)
    active = n_items - len(definition.retired)
    if active < definition.n_positions:
        rule = f"n_positions must be between 1 and the number of active items ({active})"
        raise invalid(name, rule, definition.n_positions)
    for field, most in _MOST.items():
        value = definition.settings.get(field, 1)
        if isinstance(value, (int, float)) and value > most:
            raise invalid(name, f"{field} must be at most {most:,} in the service", value)
    largest = POLICIES[definition.policy].most_items
    if largest is not None and active > largest:
        raise invalid(name, f"{definition.policy} supports at most {largest} items", active)
    try:
        size = _size(definition)
        if size > MOST_BYTES:
            rule = f"the state of {definition.policy!r} must take at most {MOST_BYTES:,} bytes"
            raise invalid(name, rule, int(size))
        policy_of(definition).params(n_items, definition.n_positions)
    except ClickRankError:
        raise
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as error:
        # The policy does not check for values of such types.
        rule = f"settings must have values that {definition.policy!r} supports"
        raise invalid(name, rule, definition.settings) from error


def _size(definition: Definition) -> float:
    """Return the bytes of state and cache, a quadratic in the items, from three small sizes."""
    n_items, n_positions = len(definition.items), definition.n_positions
    small = [n_positions + 8, n_positions + 16, n_positions + 24]
    if n_items <= small[-1]:
        small = [n_items]
    sizes = []
    for count in small:
        part = definition.first_items(count)
        part = msgspec.structs.replace(part, start=None, retired=[])
        learner = Learner(policy_of(part), count, n_positions)
        sizes.append(sum(array.nbytes for array in (*learner.state, *arrays_in(learner.cache))))
    return float(np.polyval(np.polyfit(small, sizes, len(small) - 1), n_items))


def described(row: RankerRow) -> RankerInfo:
    """Return the description of a ranker for clients."""
    definition = row.definition
    n_retired = len(definition.retired)
    return RankerInfo(
        name=row.name,
        policy=definition.policy,
        settings=definition.settings,
        n_items=len(definition.items) - n_retired,
        n_retired=n_retired,
        n_positions=definition.n_positions,
        window=row.window // 1_000_000,
        mode=definition.mode,
        version=row.version,
        created=row.created_at / 1e6,
        changed=row.changed_at / 1e6,
        takes_candidates=takes_candidates(POLICIES[definition.policy]),
        takes_priors=takes_priors(definition.policy),
        log_propensities=definition.log_propensities,
        warnings=_warnings(definition),
    )


def _warnings(definition: Definition) -> list[str]:
    """Return the warnings of the policy with these settings; most policies have none."""
    if not issubclass(POLICIES[definition.policy], HasCautions):
        return []
    spec = policy_of(definition)
    return spec.warnings() if isinstance(spec, HasCautions) else []


def _known_policy(name: str) -> None:
    POLICIES[name]  # raises with a suggestion if there is no such policy


def _check_settings(owner: GivenName, name: str, settings: dict[str, Any]) -> None:
    """Raise if a setting is unknown or missing; the policy checks the values."""
    if not settings.keys().isdisjoint(FIELDS):
        rule = "settings must not contain prior or initial; use the fields prior and start instead"
        raise invalid(owner, rule, sorted(settings))
    cls = POLICIES[name]
    known = {field.name: field for field in settings_of(cls) if field.name not in FIELDS}
    for key in settings:
        if key not in known:
            rule = f"unknown setting {key!r}; it has {', '.join(known) or 'none'}"
            raise invalid(GivenName(name), rule, hint=did_you_mean(key, known))
    for key, field in known.items():
        required = field.default is field.default_factory is dataclasses.MISSING
        if required and key not in settings:
            choices = f": {', '.join(cls.assumes.click_models)}" if key == "click_model" else ""
            raise invalid(GivenName(name), f"settings.{key} must be given{choices}")


def _distinct(owner: GivenName, items: list[str]) -> list[str]:
    return cast("list[str]", distinct_items(owner, items))


def _prior_of(definition: Definition) -> Beta | None:
    if definition.alpha is None or definition.beta is None:
        return None
    return Beta(definition.alpha, definition.beta)


def _prior(
    owner: GivenName, policy: str, prior: Prior, count: int
) -> tuple[list[float], list[float]]:
    if not takes_priors(policy):
        raise _needs_priors(owner, policy, "prior")
    for name in ("alpha", "beta"):
        values = getattr(prior, name)
        if len(values) != count:
            raise invalid(
                owner, f"prior.{name} must have one number per item ({count})", len(values)
            )
        if not all(map(math.isfinite, values)):
            raise invalid(owner, f"prior.{name} must be finite", values)
    return prior.alpha, prior.beta


def _from_ranking(ranking: list[int], n_items: int, weight: int) -> tuple[list[float], list[float]]:
    prior = from_ranking(ranking, weight, n_items)
    alpha, beta = prior.for_items(n_items)
    return alpha.tolist(), beta.tolist()


def _needs_priors(owner: GivenName, policy: str, field: str) -> InvalidValue:
    can = ", ".join(name for name in POLICIES if takes_priors(name))
    lists = ", ".join(name for name in POLICIES if takes_list(name))
    also = f" (or, to start from a list: {lists})" if field == "start" else ""
    rule = f"{field} must be left out, unless the policy is one of {can}{also}"
    return invalid(owner, rule, policy)
