"""Cells of the board: one policy on one page, or the reason why it is not played there.

What a policy is given on a page follows from the facts on its class: see `given_facts`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from clickrank._core.digests import add_to_digest
from clickrank.clickmodels import ClickModel
from clickrank.errors import InvalidValue
from clickrank.experiments.board_pages import Board, BoardPage
from clickrank.experiments.code_stamp import stamp_of
from clickrank.experiments.figure_models import ModelInstance
from clickrank.experiments.figure_runs import Strand
from clickrank.policies import POLICIES, HasPrior, HasScores, Policy, policy
from clickrank.policies.contract import source_of
from clickrank.simulation.simulate_runs import RunPlan, check_applies, recording_rounds

#: The statistics of a policy may take this many bytes on a page.
MOST_BYTES = 2**28


class BoardCell(NamedTuple):
    """One policy on one page.

    ``strands`` has the policy on each click model of the page, and is empty if the policy does not
    apply, for the given ``reason``. ``given`` names what the policy is given about the page, and
    ``truths`` those among them that are parameters of the click model, or the prior that it was
    drawn from. ``outside`` says that the page breaks an assumption of the policy.
    """

    page: str
    policy: str
    strands: tuple[Strand, ...] = ()
    given: tuple[str, ...] = ()
    truths: tuple[str, ...] = ()
    outside: bool = False
    reason: str = ""

    @property
    def applies(self) -> bool:
        """Whether the policy can be played on the page."""
        return not self.reason

    @property
    def experiment(self) -> str:
        """The name of the archive's file with the runs on the page."""
        return f"runs/{self.page}"

    @property
    def key(self) -> str:
        """The key of the runs: see `Strand`."""
        return self.strands[0].key

    @property
    def code(self) -> str:
        """The stamp of the code that would play the runs today."""
        strand = self.strands[0]
        return stamp_of(type(strand.policy), type(strand.model))

    def strand_of(self, run: int) -> Strand:
        """Return what a run is played on: the click models take turns."""
        return self.strands[run % len(self.strands)]


def cells_of_page(board: Board, name: str, policies: Sequence[str] | None) -> list[BoardCell]:
    """Return the cells of a page, for some policies or for all that are registered."""
    page = board.pages[name]
    instances = page.instances()
    chosen = list(POLICIES) if policies is None else policies
    return [_cell(page, name, POLICIES[policy], instances) for policy in chosen]


def _cell(
    page: BoardPage, name: str, cls: type[Policy], instances: list[ModelInstance]
) -> BoardCell:
    found = BoardCell(name, cls.name)
    try:
        made = [_made(page, cls, instance) for instance in instances]
        reasons = [
            reason
            for one, instance in zip(made, instances, strict=True)
            if (reason := one.why_not(instance.model)) is not None
        ]
        reason = reasons[0] if reasons and not page.mismatch else _too_large(made[0], instances[0])
        if reason:
            return found._replace(reason=reason)
        check_applies(made[0], instances[0].model, allow_mismatch=page.mismatch)
    except InvalidValue as error:
        return found._replace(reason=error.rule or error.reason)
    plan = RunPlan(
        seed=page.seed,
        delay=page.delay,
        batch=page.batch,
        checkpoints=recording_rounds(page.horizon, recording_rounds(page.horizon, None)[::2]),
        counted_positions=None,
    )
    models = [instance.model for instance in instances]
    key = _key(made, models, plan)
    given, truths = given_facts(made[0], models[0], prior=page.prior)
    return found._replace(
        strands=tuple(
            Strand(cls.name, str(i), one, model, plan, (), key)
            for i, (one, model) in enumerate(zip(made, models, strict=True))
        ),
        given=given,
        truths=truths,
        outside=bool(reasons),
    )


def _made(page: BoardPage, cls: type[Policy], instance: ModelInstance) -> Policy:
    """Make a policy with what it must be given on a page."""
    settings: dict[str, Any] = {}
    if page.prior and instance.prior is not None:
        if issubclass(cls, HasPrior):
            settings["prior"] = instance.prior
        elif issubclass(cls, HasScores):
            settings["scores"] = instance.prior.mean
    return policy(cls.name, model=instance.model, horizon=page.horizon, **settings)


def given_facts(
    made: Policy, model: ClickModel, *, prior: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a policy is given about a page, and which of it are truths about its clicks.

    A policy is given each parameter of the click model that it must know and the model has, the
    number of rounds, features and priors, if its class says that it uses them.
    """
    assumes = made.assumes
    # A parameter that the policy does not use with this click model is None afterwards.
    known = [
        key for key in assumes.known if hasattr(model, key) and getattr(made, key, None) is not None
    ]
    truths = [key for key in known if not _follows_from_model(getattr(made, key))]
    takes_prior = prior and isinstance(made, HasPrior | HasScores)
    given = known + ["horizon"] * assumes.horizon + ["features"] * assumes.features
    return (
        tuple(given + ["prior"] * takes_prior),
        tuple(truths + ["prior"] * takes_prior),
    )


def _follows_from_model(value: Any) -> bool:
    """Return whether a parameter says no more than how people click: a name, or ones alone."""
    return isinstance(value, str) or bool(np.all(np.equal(value, 1.0)))


def _too_large(made: Policy, instance: ModelInstance) -> str:
    """Return why a page is too large for a policy; empty if it is not."""
    model = instance.model
    most = made.most_items
    if most is not None and model.n_items > most:
        return f"it is meant for at most {most} items"
    state = made.init(model.n_items, model.n_positions)
    size = sum(np.asarray(field).nbytes for field in state)
    if size > MOST_BYTES:
        return f"its statistics would take {size / 2**20:,.0f} MB"
    return ""


def _key(made: list[Policy], models: list[ClickModel], plan: RunPlan) -> str:
    """Return a hash of what decides the numbers of runs, besides clickrank's code.

    The code of a policy from elsewhere, of which code stamps know nothing, is part of it.
    """
    digest = hashlib.sha256()
    for one, model in zip(made, models, strict=True):
        add_to_digest(digest, [one.name, one, model.name, *model.params])
    add_to_digest(digest, [plan.seed, plan.delay, plan.batch, source_of(made[0])])
    return digest.hexdigest()[:16]
