"""The board of docs/howto/board.md: experiments on pages beyond the papers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from clickrank.cli.app import app
from clickrank.clickmodels import CLICK_MODELS
from clickrank.errors import InvalidValue, UnknownName
from clickrank.experiments import board_play, board_update
from clickrank.experiments.board_cells import BoardCell, cells_of_page
from clickrank.experiments.board_pages import Board, read_board
from clickrank.experiments.board_play import missing
from clickrank.experiments.board_report import board_markdown, board_pictures, overview_svg
from clickrank.experiments.board_results import results_of, slow_runs_of, write_board
from clickrank.experiments.board_update import archive_of, restamp_board, update_board
from clickrank.experiments.run_archive import ArchivedRun, RunArchive
from clickrank.experiments.shipped_board import (
    SHIPPED_BOARD,
    BoardFile,
    board_sources,
    load_board,
)
from clickrank.policies import POLICIES
from tests.paths import DOCS, ROOT

TINY = """
seconds_per_run = 5.0
runs = 3

[pages.shop]
title = "A shop"
tests = "That there is a board."
seed = 1
horizon = 50
drawn = { name = "pbm", items = 6, draws = 2, parameters = { examination = [1.0, 0.5] } }

[pages.late]
title = "A late shop"
tests = "Late clicks."
seed = 1
horizon = 50
delay = 5
batch = 2
prior = true
drawn = { name = "dctr", items = 6, draws = 3, parameters = { n_positions = 2 } }
"""


@pytest.fixture
def tiny(tmp_path: Path) -> Board:
    path = tmp_path / "pages.toml"
    path.write_text(TINY)
    return read_board(path)


@pytest.fixture(scope="module")
def shipped() -> BoardFile:
    return load_board()


def test_pages_have_every_click_model_and_all_sizes() -> None:
    board = read_board()
    models = {
        instance.model.name: instance.model
        for page in board.pages.values()
        for instance in page.instances()[:1]
    }
    assert models.keys() == set(CLICK_MODELS)
    pages = load_board().pages
    assert min(page.items for page in pages) == 10
    assert max(page.items for page in pages) == 10_000
    assert any(page.features for page in pages)
    assert any(page.delay for page in pages)
    assert board.runs >= 10


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("horizon = 50", "horizon = 0", "horizon"),
        ("delay = 5", "delay = 51", "at most the horizon"),
        ("runs = 3", "runs = 1", "runs must be at least 2"),
        ('title = "A shop"', 'titel = "A shop"', "titel"),
        ("drawn = { name", "model = { name", "unknown field"),
    ],
)
def test_pages_are_checked(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "pages.toml"
    path.write_text(TINY.replace(old, new, 1))
    with pytest.raises(InvalidValue, match=message):
        read_board(path)


def test_a_page_has_one_source_of_click_models(tmp_path: Path) -> None:
    path = tmp_path / "pages.toml"
    model = '[pages.late.model]\nname = "pbm"\n'
    path.write_text(TINY + model)
    with pytest.raises(InvalidValue, match="exactly one"):
        read_board(path)


def test_what_a_policy_is_given_follows_from_its_class() -> None:
    """Every parameter that its class says it must know, and nothing else."""
    board = read_board()
    for name in ("pbm-yandex", "dctr-prior", "mnl"):
        for cell in cells_of_page(board, name, None):
            assumes = POLICIES[cell.policy].assumes
            assert set(cell.given) <= {*assumes.known, "horizon", "features", "prior"}
            assert ("horizon" in cell.given) == (cell.applies and assumes.horizon)
            assert set(cell.truths) <= set(cell.given) - {"horizon", "features", "click_model"}
            assert bool(cell.reason) != cell.applies


def test_all_policies_meet_the_same_visitors(tiny: Board) -> None:
    of_page = [c for c in cells_of_page(tiny, "late", None) if c.applies]
    assert {c.strand_of(1).plan[:3] for c in of_page} == {(1, 5, 2)}
    assert len({id(c.strand_of(1).model) for c in of_page}) == 1


def played(board: Board, folder: Path, policies: list[str]) -> tuple[RunArchive, BoardFile]:
    """Return an archive with made-up runs of some policies, and the results."""
    archive = RunArchive(folder)
    cells = [cell for name in board.pages for cell in cells_of_page(board, name, None)]
    for cell in cells:
        if cell.applies and cell.policy in policies:
            for run in range(board.runs):
                strand = cell.strand_of(run)
                level = 1.0 + policies.index(cell.policy) + 0.1 * run
                regret = level * strand.plan.checkpoints.astype(np.float64)
                archive.add(cell.experiment, strand, run, ArchivedRun(regret, 1e-3))
            archive.save(cell.experiment)
    file = results_of(board, cells, archive, {})
    write_board(file, folder)
    return archive, file


def test_places_shares_and_comparisons(tiny: Board, tmp_path: Path) -> None:
    _, file = played(tiny, tmp_path / "b", ["grab", "s-grab", "uniform", "thompson"])
    on_page = {e.policy: e for e in file.on("shop")}
    assert [on_page[p].rank for p in ("grab", "s-grab", "thompson", "uniform")] == [1, 2, 3, None]
    assert on_page["uniform"].share == pytest.approx(100.0)
    assert on_page["grab"].share == pytest.approx(100.0 * 1.1 / 3.1)
    assert on_page["grab"].truths == ()
    assert on_page["thompson"].truths == ("examination",)
    without, given = (file.group(given_truths=truths) for truths in (False, True))
    assert [(s.name, s.won, s.drawn, s.lost) for s in without] == [
        ("grab", 2, 0, 0), ("s-grab", 0, 0, 2),
    ]  # fmt: skip
    assert [(s.name, s.pages) for s in given] == [("thompson", 2)]
    assert on_page["pmed"].outcome == "not played"
    assert on_page["cascade-kl-ucb"].reason == "it assumes cascade clicks, not pbm"
    text = board_markdown(file)
    assert "| 1 of 3 | `grab` | nothing |" in text
    assert "## late: a late shop" in text
    assert overview_svg(file).count("<rect") == 1 + 4 * 2


def test_results_of_other_code_are_stale_and_played_first(
    tiny: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, _ = played(tiny, tmp_path / "b", ["grab", "uniform"])
    for name in archive.experiments:
        for strand in archive.strands_of(name):
            if strand.facts.policy_name == "grab":
                strand.facts = msgspec.structs.replace(strand.facts, code="older")
        archive.save(name)
    archive = RunArchive(tmp_path / "b")
    cells = [c for c in cells_of_page(tiny, "shop", ["grab", "s-grab", "uniform"]) if c.applies]
    file = results_of(tiny, cells_of_page(tiny, "shop", None), archive, {})
    assert {e.policy for e in file.entries if e.stale} == {"grab"}
    order = []

    def first_run(cell: BoardCell, archive: RunArchive, limit: float) -> None:
        order.append(cell.policy)

    monkeypatch.setattr(board_play, "first_run", first_run)
    monkeypatch.setattr(board_play, "play", lambda *args: True)
    board_play.play_board(tiny, cells, archive, {})
    assert order == ["grab", "s-grab"]


def test_restamping_keeps_only_what_has_the_same_numbers(
    tiny: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_update, "read_board", lambda: tiny)
    folder = tmp_path / "b"
    update_board(folder, "shop", "uniform", board=tiny)
    archive = archive_of(folder)
    for name in archive.experiments:
        for strand in archive.strands_of(name):
            strand.facts = msgspec.structs.replace(strand.facts, code="older")
        archive.save(name)
    said: list[str] = []
    restamp_board(folder, 2, said.append)
    assert said == ["uniform on pbm: the same in 2 runs"]
    assert not any(entry.stale for entry in load_board(folder).entries)
    archive = archive_of(folder)
    for strand in archive.strands_of("runs/shop"):
        strand.facts = msgspec.structs.replace(strand.facts, code="older")
        strand.runs = {n: ArchivedRun(run.regret + 1.0, 0.0) for n, run in strand.runs.items()}
    archive.save("runs/shop")
    restamp_board(folder, 2, said.append)
    assert said[1:] == ["uniform on pbm: DIFFERENT in 2 runs"]


def test_a_slow_policy_is_stopped_and_not_played_again(tiny: Board, tmp_path: Path) -> None:
    slow_board = msgspec.structs.replace(tiny, seconds_per_run=1e-9)
    slow_board.pages["shop"] = msgspec.structs.replace(tiny.pages["shop"], horizon=100_000)
    file = update_board(tmp_path / "b", "shop", "uniform", board=slow_board).file
    (entry,) = (e for e in file.entries if (e.page, e.policy) == ("shop", "uniform"))
    assert entry.outcome == "too slow"
    assert 0 < entry.rounds < 100_000
    said: list[str] = []
    again = update_board(tmp_path / "b", "shop", "uniform", board=slow_board, say=said.append)
    assert said == []
    assert again.complete
    assert slow_runs_of(again.file) == slow_runs_of(file)


TOY = '''
"""A toy policy."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clickrank.kernels import IntStatistic
from clickrank.policies import Assumes, Policy, register


class Params(NamedTuple):
    nothing: float


class State(NamedTuple):
    clicks: IntStatistic


@dataclass(frozen=True)
class Toy(Policy):
    """Toy sorts items by their clicks."""

    name = "toy"
    assumes = Assumes(positions="decreasing")

    def params(self, n_items, n_positions):
        return Params(0.0)

    def init(self, n_items, n_positions):
        return State(np.zeros(n_items, dtype=np.int64))


def score(params, state, cache, request, rng, items, positions):
    items[:] = state.clicks


def update(params, state, cache, ranking, memo, clicks):
    for k in range(ranking.shape[0]):
        state.clicks[ranking[k]] += clicks[k]


register(Toy, State, score=score, update=update)
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "toy_policy.py").write_text(TOY)
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "toy_policy.py"
    sys.modules.pop("toy_policy", None)
    POLICIES.remove("toy")


def test_a_policy_from_elsewhere_gets_a_row(
    toy: Path, tiny: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a file, with one command; other policies are not played, and other rows are there."""
    monkeypatch.setattr(board_update, "read_board", lambda: tiny)
    run = CliRunner().invoke
    options = ["board", "shop", "--policy", "toy", "--folder", "mine"]
    done = run(app, [*options, "--module", "toy_policy.py", "--play", "--threads", "1"])
    assert done.exit_code == 0, done.output
    assert "toy" in done.output
    file = load_board(Path("mine"))
    entry = next(e for e in file.on("shop") if e.policy == "toy")
    assert (entry.outcome, entry.runs, entry.rank, entry.ranked) == ("played", 3, 1, 1)
    assert entry.low is not None
    assert entry.mean is not None
    assert 0.0 < entry.mean < 100.0
    assert next(e for e in file.on("late") if e.policy == "toy").outcome == "not played"
    (standing,) = file.group(given_truths=False)
    assert (standing.name, standing.given, standing.shipped) == ("toy", (), False)
    before = (toy.parent / "mine" / "runs" / "shop.npz").stat().st_mtime_ns
    assert run(app, [*options, "--module", "toy_policy", "--play"]).exit_code == 0
    assert (toy.parent / "mine" / "runs" / "shop.npz").stat().st_mtime_ns == before
    assert "toy" in run(app, options).output


def test_a_module_that_does_not_exist_is_named() -> None:
    done = CliRunner().invoke(app, ["board", "--module", "no_such_module"])
    assert done.exit_code == 2
    assert "--module must be a Python module or file, got 'no_such_module'" in done.stderr


@pytest.mark.parametrize("name", ["pbm-yandx", "nothing"])
def test_an_unknown_page_is_an_error(name: str) -> None:
    with pytest.raises(UnknownName, match="Unknown page"):
        load_board().only(name, None)


def test_the_shipped_board_is_complete_and_that_of_the_shipped_runs(shipped: BoardFile) -> None:
    board = read_board()
    archive = RunArchive(SHIPPED_BOARD)
    cells = [cell for name in board.pages for cell in cells_of_page(board, name, None)]
    again = results_of(board, cells, archive, slow_runs_of(shipped))
    assert again.entries == shipped.entries
    assert again.standings == shipped.standings
    assert [e for e in shipped.entries if e.outcome == "not played"] == []
    slow = {(e.page, e.policy) for e in shipped.entries if e.outcome == "too slow"}
    for cell in cells:
        if cell.applies and (cell.page, cell.policy) not in slow:
            assert missing(cell, archive, board.runs) == []
    assert not any(entry.stale for entry in again.entries)


def test_the_page_is_made_of_the_shipped_board(shipped: BoardFile) -> None:
    folder = DOCS / "board"
    assert (folder / "README.md").read_text(encoding="utf-8") == board_markdown(shipped)
    pictures = board_pictures(shipped, RunArchive(SHIPPED_BOARD))
    for name, picture in pictures.items():
        assert (folder / name).read_text(encoding="utf-8") == picture, name
    assert {p.name for p in folder.iterdir()} == {*pictures, "README.md"}


def test_the_shipped_board_is_small() -> None:
    assert sum(p.stat().st_size for p in SHIPPED_BOARD.rglob("*") if p.is_file()) < 3 * 2**20


def test_the_board_is_printed_without_numba_and_numpy(tmp_path: Path) -> None:
    """Unless sources have changed since it was written: then stamps are compared."""
    shutil.copy(SHIPPED_BOARD / "board.json", tmp_path / "board.json")
    file = msgspec.json.decode((tmp_path / "board.json").read_bytes(), type=BoardFile)
    write_board(msgspec.structs.replace(file, sources=board_sources()), tmp_path)
    code = (
        "import sys; from clickrank.cli.board_command import board; from pathlib import Path; "
        f"board(None, None, None, False, None, Path({str(tmp_path)!r}), None, False); "
        "print([m for m in ('numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip().endswith("[]")
