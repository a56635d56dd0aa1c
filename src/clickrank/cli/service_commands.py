"""Commands of the service: serve, keys, compact, verify, export and loadtest.

Each command imports what it needs when it runs, which keeps ``clickrank --help`` fast.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import re
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank._core.extras import require
from clickrank._core.output_files import make_folder_of
from clickrank.cli.command_group import CommandGroup
from clickrank.errors import ClickRankError, InvalidValue, invalid

if TYPE_CHECKING:
    from clickrank.service.store.database import Database

START_SECONDS = 120.0
#: The folder of a checkout, if the package runs from one.
CHECKOUT = Path(__file__).resolve().parents[3]

Store = Annotated[
    str,
    typer.Option(
        help="Database of rankers and their log: sqlite:///FILE or postgresql://USER@HOST/NAME.",
        envvar="CLICKRANK_STORE",
    ),
]
DEFAULT_STORE = "sqlite:///clickrank.db"

keys = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Create, list and revoke API keys of the service.",
)


def _check_installed() -> None:
    require("The service needs", "serve")


@contextlib.contextmanager
def _database(store: str, make: bool = False) -> Iterator[Database]:
    _check_installed()
    from clickrank.service.store.database import Database

    database = Database(store)
    if database.is_sqlite and not make and not Path(str(database.url.database)).exists():
        raise invalid("store", "--store must name an existing file", str(database.url.database))
    try:
        database.upgrade()
        yield database
    finally:
        database.close()


def serve(
    store: Store = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Addresses other than loopback require keys.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port to listen on; 0 chooses a free one.", min=0, max=65535)
    ] = 8765,
    workers: Annotated[
        int,
        typer.Option(help="Number of processes. More than one needs PostgreSQL.", min=1, max=256),
    ] = 1,
    require_keys: Annotated[
        bool, typer.Option("--require-keys", help="Require keys on a loopback address too.")
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Send simulated visitors to a ranker named demo.")
    ] = False,
) -> None:
    """Serve rankers over HTTP, with a dashboard."""
    _check_installed()
    from clickrank.service.api.server import serve as run

    def announce(address: str, keys_required: bool) -> None:
        if demo and keys_required:
            raise InvalidValue(
                "serve: --demo sends no key, so it needs a loopback address without --require-keys."
            )
        thread = threading.Thread(target=_when_ready, args=(address, demo), daemon=True)
        thread.start()

    run(store, host, port, workers=workers, require_keys=require_keys, on_bound=announce)


def _when_ready(address: str, demo: bool) -> None:
    """Print the address of the service once it answers, and start the demo."""
    import httpx

    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{address}/readyz", trust_env=False, timeout=5.0).status_code == 200:
                break
        if time.monotonic() > deadline:
            typer.echo(f"clickrank: not ready yet; {address}/readyz says why.", err=True)
            return
        time.sleep(0.1)
    typer.echo(f"clickrank serves {address}")
    typer.echo(f"Dashboard: {address}/  API: {address}/openapi.json")
    if demo:
        from clickrank.cli.demo_visitors import run_demo

        run_demo(address)


@keys.command("add")
def add_key(
    name: Annotated[
        str, typer.Argument(help="Name of the key, for example of the program that uses it.")
    ],
    role: Annotated[
        str, typer.Option(help="'rank' (request lists and report clicks) or 'admin' (everything).")
    ],
    store: Store = DEFAULT_STORE,
) -> None:
    """Create a key and print its secret, which is shown only once."""
    with _database(store, make=True) as database:
        from clickrank.service.store.api_keys import make_key

        with database.writing() as connection:
            key, secret = make_key(connection, name, role)
    typer.echo(f"Key {key.id} ({key.name}, {key.role}). Its secret, shown only once:", err=True)
    typer.echo(secret)


@keys.command("list")
def list_keys(store: Store = DEFAULT_STORE) -> None:
    """List the keys, without their secrets."""
    with _database(store) as database:
        from clickrank.service.store.api_keys import list_keys as find

        with database.reading() as connection:
            found = find(connection)
    for key in found:
        state = "valid" if key.revoked_at is None else f"revoked {_day(key.revoked_at)}"
        typer.echo(f"{key.id}\t{key.name}\t{key.role}\tmade {_day(key.created_at)}\t{state}")


@keys.command("revoke")
def revoke_key(
    key: Annotated[
        int, typer.Argument(help="Number of the key, as `clickrank keys list` shows it.")
    ],
    store: Store = DEFAULT_STORE,
) -> None:
    """Revoke a key for ever. A running service refuses it within two seconds."""
    with _database(store) as database:
        from clickrank.service.store.api_keys import revoke_key as revoke

        with database.writing() as connection:
            found = revoke(connection, key)
    if found is None:
        raise invalid("keys", "there must be a key with this number in the store", key)
    typer.echo(f"Key {found.id} ({found.name}, {found.role}) is revoked.")


def compact(
    store: Store = DEFAULT_STORE,
    before: Annotated[
        str | None,
        typer.Option(
            help="Drop impressions before this day (UTC), for example 2026-10-01.", metavar="DATE"
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            help="Drop impressions older than this, for example 30d or 12h.", metavar="AGE"
        ),
    ] = None,
) -> None:
    """Drop old impressions that have settled and are part of a snapshot."""
    if before is None and older_than is None:
        raise InvalidValue("compact: --before or --older-than must be given.")
    if before is not None and older_than is not None:
        raise InvalidValue("compact: give either --before or --older-than, not both.")
    limit = _start_of(before) if before is not None else time.time() - _age(older_than or "")
    with _database(store) as database:
        from clickrank.service.runtime.compaction import compact as run

        done = run(database, int(limit * 1e6))
    typer.echo(f"Dropped {done.impressions:,} impressions of {done.streams:,} streams.")


def verify(store: Store = DEFAULT_STORE) -> None:
    """Check that folding the log from its beginning reproduces every snapshot, bit for bit."""
    with _database(store) as database:
        from clickrank.service.runtime.verification import verify as run

        found = run(database)
    for problem in found.problems:
        typer.echo(problem)
    typer.echo(
        f"{found.streams:,} streams, {found.impressions:,} impressions, "
        f"{found.snapshots:,} snapshots: {len(found.problems)} problems."
    )
    if found.problems:
        raise typer.Exit(1)


def export(
    name: Annotated[str, typer.Argument(help="Name of the ranker.")],
    out: Annotated[Path, typer.Option(help="Parquet file to write. Its folder is made.")],
    store: Store = DEFAULT_STORE,
) -> None:
    """Write a ranker's log to a Parquet file."""
    with _database(store) as database:
        from clickrank.service.runtime.log_queries import export as chunks_of
        from clickrank.service.store.rankers import find_ranker

        with database.reading() as connection:
            row = find_ranker(connection, name)
        if row is None:
            raise invalid("export", "name must be the name of a ranker in the store", name)
        # An incomplete file must not look like a complete one.
        part = make_folder_of(out).with_name(out.name + ".part")
        with part.open("wb") as file:
            for chunk in chunks_of(database, row, time.time_ns() // 1000):
                file.write(chunk)
        part.replace(out)
    typer.echo(f"Wrote {out} ({out.stat().st_size:,} bytes).")


def loadtest(
    policy: Annotated[str, typer.Option(help="Policy of the ranker.")] = DEFAULT_POLICY,
    items: Annotated[
        int, typer.Option(help="Number of items of a ranker.", min=1, max=100_000)
    ] = 20,
    positions: Annotated[
        int, typer.Option(help="Number of positions of a list.", min=1, max=100)
    ] = 5,
    connections: Annotated[
        int,
        typer.Option(
            help="Number of connections that send requests at the same time.", min=1, max=256
        ),
    ] = 16,
    seconds: Annotated[
        float, typer.Option(help="Length of a round in seconds.", min=0.1, max=60)
    ] = 3.0,
    rounds: Annotated[
        int, typer.Option(help="Number of rounds, of which the best counts.", min=1, max=100)
    ] = 3,
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder for the store, on the disk to measure; by default /var/tmp."),
    ] = None,
    many: Annotated[
        int,
        typer.Option(
            help="Measure a service with this many rankers of 1,000 items instead.", max=100_000
        ),
    ] = 0,
    out: Annotated[Path | None, typer.Option(help="JSON file to write the numbers to.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also fail if a target for speed or memory is missed.")
    ] = False,
) -> None:
    """Measure the service on this machine, and check that it stored all acknowledged lists."""
    _check_installed()
    import msgspec

    common = {"folder": folder, "policy": policy, "connections": connections, "say": typer.echo}
    if many:
        test = _benchmark("many_rankers")
        report = test.measure_many_rankers(n_rankers=many, **common)
    else:
        test = _benchmark("load")
        size = {"n_items": items, "n_positions": positions, "seconds": seconds, "rounds": rounds}
        report = test.run_load_test(**size, **common)
    typer.echo("\n".join(test.summary(report)))
    if out is not None:
        make_folder_of(out).write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    if not report.correct or (strict and not report.fast):
        raise typer.Exit(1)


def _benchmark(name: str) -> Any:
    """Import a module of ``benchmarks``, which is part of a checkout but not of the package."""
    if not (CHECKOUT / "benchmarks" / f"{name}.py").is_file():
        raise ClickRankError(
            f"The load test is benchmarks/{name}.py in a checkout of clickrank; the installed "
            "package does not contain it. Run `pip install -e '.[serve]'` in a checkout, and then "
            "`clickrank loadtest`."
        )
    sys.path.insert(0, str(CHECKOUT))
    try:
        return importlib.import_module(f"benchmarks.{name}")
    finally:
        sys.path.remove(str(CHECKOUT))


def _start_of(day: str) -> float:
    """Return the first second of a day.

    >>> _start_of("1970-01-02")
    86400.0
    """
    try:
        found = datetime.datetime.strptime(day, "%Y-%m-%d")
    except ValueError:
        raise invalid("compact", "--before must be a day such as 2026-10-01", day) from None
    return found.replace(tzinfo=datetime.UTC).timestamp()


def _age(text: str) -> float:
    """Return an age in seconds.

    >>> _age("30d"), _age("12h")
    (2592000.0, 43200.0)
    """
    found = re.fullmatch(r"([0-9]{1,6})([dh])", text)
    if found is None:
        raise invalid("compact", "--older-than must be an age such as 30d or 12h", text)
    return float(found[1]) * (86400.0 if found[2] == "d" else 3600.0)


def _day(microseconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(microseconds / 1e6))
