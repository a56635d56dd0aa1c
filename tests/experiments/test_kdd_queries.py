"""From a log of KDD Cup 2012 to Figure 2 of lagree2016 in one command."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from clickrank.clickmodels import PBM
from clickrank.errors import InvalidValue, MissingData
from clickrank.experiments import Scale, list_experiments, reproduce
from clickrank.experiments.kdd_queries import fitted_queries, log_file, log_notes
from clickrank.experiments.paper_files import select
from clickrank.experiments.reproduction import Reproduction

EXAMINATION = [1.0, 0.55, 0.35]
#: Two queries that stay, with their ads' attractions; one with too few ads, one shown too rarely.
KEPT = {"1601": [0.16, 0.12, 0.09, 0.06, 0.03], "977": [0.2, 0.15, 0.1, 0.08, 0.05, 0.02]}


def write_log(path: Path, seed: int = 0) -> None:
    """Write a log as ``training.txt`` is: Click, Impression, url, ad, …, position, query, …"""
    rng = np.random.default_rng(seed)
    lines: list[str] = []

    def displays(query: str, ad: int, attraction: float, each: int) -> None:
        for position, looked in enumerate(EXAMINATION, start=1):
            clicks = rng.random(each) < attraction * looked
            head = f"1\t12057878999086460853\t{ad}\t24973"
            tail = f"{query}\t4195\t45\t277\t490234"
            lines.extend(f"{int(c)}\t{head}\t3\t{position}\t{tail}\n" for c in clicks)

    for query, attractions in KEPT.items():
        for i, attraction in enumerate(attractions):
            displays(query, 20_000_000 + i, attraction, 1_100)
        displays(query, 21_000_000, 0.5, 999)  # one display short at every position
    for i in range(4):
        displays("55", 30_000_000 + i, 0.1, 1_000)
    for i in range(6):
        displays("56", 40_000_000 + i, 0.1, 50)
    order = rng.permutation(len(lines))
    path.write_text("".join(lines[i] for i in order), encoding="utf-8")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kdd") / "training.txt"
    write_log(path)
    return path


def test_queries_and_ads_as_the_paper_keeps_them(log: Path) -> None:
    found = fitted_queries(str(log))
    assert found.keys() == KEPT.keys()
    for query, attractions in KEPT.items():
        model, displays, dominance = found[query]
        assert isinstance(model, PBM)
        assert displays == len(attractions) * 3 * 1_100
        # Five standard errors of a click rate of 1,100 displays, 3,300 for an ad.
        np.testing.assert_allclose(model.attraction, attractions, atol=5 * 0.011)
        np.testing.assert_allclose(model.examination, EXAMINATION, atol=0.2)
        assert model.examination.max() == 1.0
        assert dominance > 5.0
    (note,) = log_notes(found)
    assert note.startswith("2 queries with 5 to 6 ads, of 36,300 displays.")
    assert fitted_queries(str(log.parent)) == found  # the folder that holds it


def test_one_command_from_the_log_to_the_figure(log: Path, tmp_path: Path) -> None:
    (shipped,) = select("lagree-2016/figure-2", list_experiments())
    one = [p for p in shipped.figure.policies if p.curve == "pbm-ts"]
    claims = [c for c in shipped.claims if c.id == "table-1"]
    small = replace(shipped, figure=replace(shipped.figure, policies=one), claims=claims)
    own = tmp_path / "kdd" / "training.txt"
    own.parent.mkdir()
    shutil.copy(log, own)

    def run(data: Path | None) -> Reproduction:
        return reproduce(
            scale=Scale(horizon=50, runs=6), out=tmp_path / "out", experiments=[small],
            progress=False, data=data,
        )  # fmt: skip

    (outcome,) = run(own).outcomes
    assert list(outcome.evidence.models) == sorted(KEPT)
    assert outcome.complete
    assert outcome.results["pbm-ts"].runs == 6
    assert outcome.verdicts == []  # Table 1 is about the paper's queries, and these are others
    assert "eight" not in outcome.experiment.figure.title
    # The eight shipped queries next to it, and what is left when the log has gone.
    (shipped_outcome,) = run(None).outcomes
    assert len(shipped_outcome.evidence.models) == 8
    assert [claim.id for claim, _ in shipped_outcome.verdicts] == ["table-1"]
    shutil.rmtree(own.parent)
    page = run(None).report.read_text(encoding="utf-8")
    assert page.count("<section id=") == 2
    assert "1601" in page


def test_what_is_no_such_log(tmp_path: Path, log: Path) -> None:
    assert log_file(log) == log
    other = tmp_path / "train.csv"
    other.write_text("query,item,click\nq,a,1\n", encoding="utf-8")
    assert log_file(other) is None
    assert log_file(tmp_path) is None
    with pytest.raises(MissingData, match=r"the log of KDD Cup 2012, training\.txt, is missing"):
        fitted_queries(str(tmp_path))


def test_a_log_of_which_the_paper_would_keep_no_query(tmp_path: Path) -> None:
    path = tmp_path / "training.txt"
    path.write_text("1\t1\t120\t2001\t24\t2\t1\t55\t41\t45\t27\t49\n" * 3, encoding="utf-8")
    rule = "no query has 5 ads that were shown at least 1,000 times at every position"
    with pytest.raises(InvalidValue, match=rule):
        fitted_queries(str(path))
    path.write_text("", encoding="utf-8")
    with pytest.raises(InvalidValue) as other:
        fitted_queries(str(path))
    assert "no query has" not in str(other.value)
