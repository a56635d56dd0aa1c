"""The command ``warm``, which compiles policies before they are needed."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from clickrank.cli.shared_options import AsJson
from clickrank.cli.terminal import console, print_json, print_text
from clickrank.errors import invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clickrank.policies import Policy


class Warmed(NamedTuple):
    """A policy that was compiled or found in the cache, and how long that took."""

    policy: str
    models: list[str]  # click models for which its simulation is compiled
    seconds: float
    problem: str = ""


def warm(
    policies: Annotated[
        list[str] | None, typer.Argument(help="Names of policies; all by default.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Click model for simulations, or 'all' that apply; may be repeated. None by "
            "default: rankers and the service do not simulate."
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            help="Number of policies to compile in parallel.", show_default="one per core"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile policies now for rankers, the service and simulations."""
    from clickrank._core.progress import progress_bar
    from clickrank.policies import POLICIES

    names = [POLICIES[name].name for name in policies or POLICIES]
    models = _model_names(model or ())
    found: list[Warmed] = []
    with progress_bar("compiling", len(names), None) as tick:
        for one in compile_all(names, models, processes):
            found.append(one)
            tick(1)
            if not as_json:
                on = f", also on {', '.join(one.models)}" if one.models else ""
                text = one.problem or f"ready in {one.seconds:.1f} s{on}"
                print_text(console(), f"{one.policy}: {text}", wrap=True)
    if as_json:
        print_json([one._asdict() for one in found])
    if any(one.problem for one in found):
        raise typer.Exit(1)


def _model_names(given: Sequence[str]) -> list[str]:
    from clickrank.clickmodels import CLICK_MODELS

    if "all" in given:
        return list(CLICK_MODELS)
    return [CLICK_MODELS[name].name for name in given]


def compile_all(
    policies: Sequence[str], models: Sequence[str], processes: int | None = None
) -> Iterator[Warmed]:
    """Compile each policy in a process of its own, and yield policies as they are finished.

    Numba compiles only one function at a time per process; all processes share its cache on disk.
    """
    import concurrent.futures
    import multiprocessing

    from clickrank.simulation.simulate_runs import default_threads

    if processes is not None and processes < 1:
        raise invalid("warm", "processes must be at least 1", processes)
    workers = min(processes or default_threads(), len(policies))
    if workers <= 1:
        yield from (compile_policy(name, models) for name in policies)
        return
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        waiting = [pool.submit(compile_policy, name, models) for name in policies]
        try:
            for done in concurrent.futures.as_completed(waiting):
                yield done.result()
        finally:
            for one in waiting:
                one.cancel()


def compile_policy(name: str, models: Sequence[str]) -> Warmed:
    """Compile one policy for rankers, and for simulations on the click models that it covers."""
    from clickrank.checks.click_model_checks import example_models
    from clickrank.checks.playing import matched_model
    from clickrank.clickmodels import CLICK_MODELS
    from clickrank.errors import ClickRankError
    from clickrank.learning import ContextState
    from clickrank.policies import POLICIES, policy
    from clickrank.policies._shared.packed_states import first_state
    from clickrank.policies.capabilities import HasScores
    from clickrank.simulation import simulate

    began = time.perf_counter()
    done = []
    cls = POLICIES[name]
    try:
        own = matched_model(cls, 4, 2)
        extra: dict[str, Any] = {}
        if issubclass(cls, HasScores):  # they have no default
            extra = {cls.described_by: own.attraction}
        made = policy(name, model=own, horizon=100, **extra)
        known: dict[type, Policy] = {type(first_state(made, 4, own.n_positions)): made}
        for other in cls.assumes.click_models:  # some need statistics of another class
            page = example_models(CLICK_MODELS[other], 4, own.n_positions, 0)[0]
            with contextlib.suppress(ClickRankError):
                spec = policy(name, model=page, horizon=100, **extra)
                known.setdefault(type(first_state(spec, 4, own.n_positions)), spec)
        for spec in known.values():
            ContextState(spec, 4, own.n_positions).prepare()
        for other in models:
            model = own if other == own.name else example_models(CLICK_MODELS[other], 4, 2, 0)[0]
            try:
                spec = policy(name, model=model, horizon=100, **extra)
                if spec.why_not(model) is None:
                    simulate(spec, model, horizon=1, runs=1, threads=1, progress=False)
                    done.append(other)
            except ClickRankError:  # it does not apply
                continue
    except ClickRankError as error:
        return Warmed(name, done, time.perf_counter() - began, str(error))
    return Warmed(name, done, time.perf_counter() - began)
