"""The upper bounds of 004 for the curves of a figure with drawn models."""

from __future__ import annotations

import numpy as np

from clickrank.beta import Beta
from clickrank.bounds import cascade_bayes_bound, dcm_bayes_bound, dctr_bayes_bound
from clickrank.clickmodels import DCM, DCTR, Cascade, ClickModel
from clickrank.errors import DoesNotApply
from clickrank.experiments.cells import last_round
from clickrank.experiments.models import Instance
from clickrank.experiments.spec import PolicySpec, Scale


def upper_bounds(
    players: list[tuple[PolicySpec, dict[str, Instance]]], scale: Scale
) -> dict[str, float]:
    """Return the bound on the regret of each curve at the horizon, averaged over its priors."""
    found = {}
    for spec, instances in players:
        horizon = last_round(spec, scale)
        kinds = {instance.prior: instance.model for instance in instances.values()}
        bounds = [upper_bound(m, prior, horizon) for prior, m in kinds.items() if prior is not None]
        found[spec.curve] = float(np.mean(bounds))
    return found


def upper_bound(model: ClickModel, prior: Beta, horizon: int) -> float:
    """Return the bound for clicks of the model's kind and a prior, with δ = 1/horizon."""
    n_items, n_positions = model.n_items, model.n_positions
    if isinstance(model, DCTR):
        return dctr_bayes_bound(prior, n_items, n_positions, horizon)
    if isinstance(model, Cascade):
        return cascade_bayes_bound(prior, n_items, n_positions, horizon)
    if isinstance(model, DCM):
        return dcm_bayes_bound(prior, n_items, model.satisfaction, horizon)
    raise DoesNotApply(f"upper_bound: there is none for {model.name} clicks.")
