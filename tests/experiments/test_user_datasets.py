"""One folder of results, many data sets: nothing is lost, and nothing is run on the wrong data."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from clickrank.errors import InvalidValue
from clickrank.experiments import (
    Experiment,
    Scale,
    judged_queries,
    list_experiments,
    movielens,
    reproduce,
)
from clickrank.experiments.figure_spec import PolicySpec
from clickrank.experiments.paper_files import select
from clickrank.experiments.reproduction import Reproduction
from clickrank.experiments.simulation_plan import cells
from clickrank.experiments.user_datasets import with_data
from tests.experiments.test_drawn_experiments import write_fold
from tests.experiments.test_movielens import rated, write

SCALE = Scale(horizon=50, runs=1, models=2)
MOVIES = {"movies": 12, "features": 3, "describing": 8, "rating": 20, "draws": 2}
ALL = list_experiments()
JUDGED = next(e for e in ALL if e.figure.judged is not None)
RATED = next(e for e in ALL if e.figure.movielens is not None)


def small(policies: list[PolicySpec] | None) -> list[Experiment]:
    """Return an experiment on judged queries, one on movies and one without data."""
    bare = next(e for e in ALL if e.name == "lagree-2016/figure-1a")
    found = []
    for e in (JUDGED, RATED, bare):
        figure = e.figure if policies is None else replace(e.figure, policies=policies)
        if figure.movielens is not None:
            figure = replace(figure, movielens=replace(figure.movielens, **MOVIES))
        found.append(replace(e, figure=figure, claims=[]))
    return found


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with judged queries and ratings; none are found by themselves."""
    write_fold(tmp_path / "fold", 12, seed=0)
    write(tmp_path / "ml", rated(60, 40, seed=1))
    monkeypatch.chdir(tmp_path)
    forget()
    return tmp_path


def forget() -> None:
    """Read data from disk again."""
    judged_queries.cached_instances.cache_clear()
    movielens.cached_instances.cache_clear()


def run(
    target: str | None, data: Path | None = None, said: list[str] | None = None
) -> Reproduction:
    return reproduce(
        target, scale=SCALE, out="out", experiments=small([PolicySpec(name="uniform")]), data=data,
        progress=False, say=lambda text: None if said is None else said.append(text),
    )  # fmt: skip


def sections(done: Reproduction) -> list[str]:
    """Return which experiments the report's overview lists."""
    page = done.report.read_text(encoding="utf-8")
    return [row.partition("</a>")[0].partition(">")[2] for row in page.split("<td><a ")[1:]]


def test_each_data_set_keeps_its_place(data: Path) -> None:
    assert sections(run(JUDGED.name)) == [JUDGED.name]
    both = [JUDGED.name, f"{JUDGED.name} on fold"]
    assert sections(run(JUDGED.name, data / "fold")) == both
    done = run(RATED.name, data / "ml")
    assert [o.experiment.name for o in done.outcomes] == [RATED.name]
    listed = [*both, f"{RATED.name} on ml"]
    assert sections(done) == listed
    page = done.report.read_text(encoding="utf-8")
    for folder in ("fold", "ml"):
        assert f"--data {data / folder}" in page

    # Later, without the data.
    shutil.rmtree(data / "fold")
    shutil.rmtree(data / "ml")
    forget()
    said: list[str] = []
    later = run("lagree-2016", said=said)
    assert sections(later) == [*listed, "lagree-2016/figure-1a"]
    assert [text for text in said if "lagree-2016" not in text] == []
    # Each section is what it was.
    shown = [text.split("</section>")[0] for text in page.split("<section ")[1:]]
    assert len(shown) == 3
    assert all(text in later.report.read_text(encoding="utf-8") for text in shown)


def test_saved_models_are_the_same_to_every_policy(data: Path) -> None:
    for one, folder in zip(small(None)[:2], ("fold", "ml"), strict=True):
        (there,) = with_data([one], data / folder)
        before = cells(there, SCALE, data / "out")
        shutil.rmtree(data / folder)
        forget()
        gone = cells(there, SCALE, data / "out")
        assert {c: [p.path for p in parts] for c, parts in gone.items()} == {
            c: [p.path for p in parts] for c, parts in before.items()
        }


@pytest.mark.parametrize(
    ("target", "folder", "message"),
    [
        (RATED.name, "fold", r"holds train.txt and test.txt \(judged queries\), which li-2019/"),
        (JUDGED.name, "ml", r"holds ratings.csv \(of MovieLens\), which kveton-2022/"),
        ("lagree-2016", "ml", "which lagree-2016/figure-1a cannot use"),
        (None, "nowhere", "nowhere: no such file or folder"),
        (None, "ml/ratings.csv", "--data must be a folder with train.txt .*, or a file that is"),
        (None, ".", "--data must be a folder with train.txt and test.txt"),
    ],
)
def test_data_that_cannot_be_used_is_refused_first(
    data: Path, target: str | None, folder: str, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        run(target, data / folder)
    assert not (data / "out").exists()


def test_other_experiments_are_left_alone(data: Path) -> None:
    done = run(None, data / "ml")
    assert {o.experiment.name: o.experiment.data for o in done.outcomes} == {
        JUDGED.name: "", RATED.name: str(data / "ml"), "lagree-2016/figure-1a": "",
    }  # fmt: skip


def test_of_all_experiments_some_take_each_kind_of_data(data: Path) -> None:
    for folder, name in (("fold", JUDGED.name), ("ml", RATED.name)):
        assert name in {e.name for e in with_data(select(None, ALL), data / folder) if e.data}
