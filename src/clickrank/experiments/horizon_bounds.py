"""Upper bounds on the regret at the horizon, by kveton2022 (drawn models) and li2019 (linear)."""

from __future__ import annotations

import numpy as np

from clickrank.bounds import (
    cascade_bayes_bound,
    dcm_bayes_bound,
    dctr_bayes_bound,
    linear_upper_bound,
)
from clickrank.clickmodels import DCM, DCTR, Cascade, ClickModel
from clickrank.errors import DoesNotApply
from clickrank.experiments.figure_models import ModelInstance
from clickrank.experiments.figure_spec import AtPoint, PolicySpec, Scale
from clickrank.experiments.model_sources import Linear
from clickrank.experiments.simulation_plan import last_round
from clickrank.stats.beta_prior import Beta


def upper_bounds(
    players: list[tuple[PolicySpec, dict[str, ModelInstance]]], scale: Scale
) -> dict[str, float]:
    """Return the bound on the regret of each curve at the horizon, averaged over its priors."""
    found = {}
    for spec, instances in players:
        horizon = last_round(spec, scale)
        source = spec.source if isinstance(spec, AtPoint) else None
        if isinstance(source, Linear):
            positions = next(iter(instances.values())).model.n_positions
            sizes = (source.items, positions, source.features)
            found[spec.curve] = linear_upper_bound(*sizes, horizon)
            continue
        kinds = {instance.prior: instance.model for instance in instances.values()}
        bounds = [upper_bound(m, prior, horizon) for prior, m in kinds.items() if prior is not None]
        found[spec.curve] = float(np.mean(bounds))
    return found


def upper_bound(model: ClickModel, prior: Beta, horizon: int) -> float:
    """Return the bound for a click model of this kind and a prior, with δ = 1/horizon."""
    n_items, n_positions = model.n_items, model.n_positions
    if isinstance(model, DCTR):
        return dctr_bayes_bound(prior, n_items, n_positions, horizon)
    if isinstance(model, Cascade):
        return cascade_bayes_bound(prior, n_items, n_positions, horizon)
    if isinstance(model, DCM):
        return dcm_bayes_bound(prior, n_items, model.satisfaction, horizon)
    raise DoesNotApply(f"upper_bound: no upper bound is known for {model.name} clicks.")
