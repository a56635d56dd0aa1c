"""Each format is read, and each kind of problem is found, counted and skipped."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from clickrank.cli.app import app
from clickrank.errors import InvalidValue
from clickrank.experiments.paper_files import DATA as EXPERIMENTS
from clickrank.logs import open_log
from clickrank.logs.log_report import Malformed
from clickrank.logs.readers import recognise
from clickrank.logs.schema import FIELDS
from tests._core.test_compressed_files import PACKED
from tests.logs.test_logs import spelled
from tests.paths import DATA


def tabbed(*lines: str) -> str:
    """Return lines with tabs instead of spaces."""
    return "".join(line.replace(" ", "\t") + "\n" for line in lines)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems(log: Any) -> dict[str, int]:
    return {kind: problem.count for kind, problem in log.report.problems.items()}


def line_of(log: Any, kind: str) -> int | None:
    line: int | None = log.report.problems[kind].examples[0].line
    return line


def test_documented_example_of_yandex_2013() -> None:
    with open_log(DATA / "yandex_pws_doc_example.txt") as log:
        text = (DATA / "yandex_pws_doc_example.txt").read_text().splitlines()[1]
        items = tuple(pair.split(",")[0] for pair in text.split("\t")[6:])
        assert (len(items), items[0], items[-1]) == (10, "632428", "119571")
        assert spelled(log.counts())[1] == {("192902", items, (1, *[0] * 9)): 1}
        assert log.report.format == "yandex-2013"
        assert log.table().user.to_pyarrow().to_pylist() == ["123123123"] * 10
        assert not log.report.problems


def test_yandex_2013(tmp_path: Path) -> None:
    text = tabbed(
        "1 M 3 u1",
        "1 0 Q 0 q1 5,6 a,d b,d c,e",
        "1 1 C 0 b",
        "1 2 Q 1 q1 5,6 b,d a,d",
        "1 3 C 1 a",
        "1 4 C 0 a",  # back to the first list
        "1 5 C 0 b",  # again
        "1 6 C 0 z",  # not shown
        "1 7 C 5 a",  # no such list
        "1 8 Q 1 q1 5 a,d",  # an id a second time
        "1 9 X 1",  # no known record
        "2 M 3 u2",
        "2 0 T 0 q2 7 a,d b,d",  # clicks withheld
        "2 1 C 0 a",
        "3 M 3 u3",
        "3 0 Q 0 q2 7 a,d a,e",  # twice the same
        "3 0 Q 1 q2 7",  # nothing
        "3 0 Q 2",  # cut
        "3 0 C 1",
        "3 0 Q 3 q2 7 c,d",
        "3 1 C 1 a",  # on a list that is left out
    )
    with open_log(write(tmp_path / "log", text)) as log:
        assert spelled(log.counts())[1] == {
            ("q1", ("a", "b", "c"), (1, 1, 0)): 1,
            ("q1", ("b", "a"), (0, 1)): 1,
            ("q2", ("c",), (0,)): 1,
        }
        assert problems(log) == {
            "several clicks": 1, "click not shown": 1, "click on no list": 1, "repeated list": 1,
            "record": 1, "test query": 1, "repeated item": 1, "empty list": 1, "fields": 2,
        }  # fmt: skip
        assert line_of(log, "click not shown") == 8
        assert log.impressions("q1").rankings.tolist() == [[0, 1, 2], [1, 0, -1]]
    with pytest.raises(Malformed, match=r"log:8: .*a click on an item that was not in the list\."):
        open_log(tmp_path / "log", strict=True)


def test_yandex_2011(tmp_path: Path) -> None:
    text = tabbed(
        "1 0 Q q1 7 a b c",
        "1 1 C b      ",  # padded with empty fields
        "1 2 Q q1 7 b d",
        "1 3 C b",  # of the last list that holds it
        "1 4 C a",  # which only the first holds
        "1 5 C z",
        "2 0 C a",
        "3 0 Q q2 7",
        "3 0 Q q2 7 a a",
        "3 0 Q",
        "3 0 K q2",
        "3 0 C a 1",
        "4 0 Q q2 7 18446744073709551615",
    )
    with open_log(write(tmp_path / "log", text)) as log:
        assert log.report.format == "yandex-2011"
        assert spelled(log.counts())[1] == {
            ("q1", ("a", "b", "c"), (1, 1, 0)): 1,
            ("q1", ("b", "d"), (1, 0)): 1,
            ("q2", ("18446744073709551615",), (0,)): 1,
        }
        assert problems(log) == {
            "click not shown": 1, "click on no list": 1, "empty list": 1, "repeated item": 1,
            "fields": 2, "record": 1,
        }  # fmt: skip


def test_head_of_kdd_2012() -> None:
    with open_log(DATA / "kdd12_track2_training_head5.txt", strict=True) as log:
        assert log.report.format == "kdd-2012"
        cells, lists = spelled(log.counts())
        assert not lists
        assert cells == {
            ("1601", "3517124", 1): (1, 0),
            ("1601", "7686695", 3): (1, 0),
            ("2255103", "21560664", 2): (1, 0),
            ("4532751", "20758093", 1): (1, 0),
            ("4532751", "21748480", 3): (1, 0),
        }


def test_kdd_2012(tmp_path: Path) -> None:
    head = (DATA / "kdd12_track2_training_head5.txt").read_text()
    odd = tabbed(
        "2 7 1 ad 1 3 1 q 1 1 1 1",
        "3 9 1 ad 1 3 1 q 1 1 1 1",
        "5 4 1 ad 1 3 2 q 1 1 1 1",  # clicks above displays
        "0 1 1 ad 1 1 2 q 1 1 1 1",  # beyond the depth
        "0 1 1 ad 1 4 2 q 1 1 1 1",  # too deep
        "0 1 1 ad 1 3 0 q 1 1 1 1",  # positions begin with 1
        "0 0 1 ad 1 3 1 q 1 1 1 1",  # never shown
        "-1 1 1 ad 1 3 1 q 1 1 1 1",
        "x 1 1 ad 1 3 1 q 1 1 1 1",
        "1 1 1 ad 1 3 1",
        "0 1 1  1 3 1 q 1 1 1 1",
    )
    with open_log(write(tmp_path / "log", head + odd)) as log:
        cells, _ = spelled(log.counts())
        assert len(cells) == 7
        assert cells["q", "ad", 1] == (16, 5)
        assert cells["q", "ad", 2] == (4, 4)
        assert problems(log) == {
            "fields": 1, "number": 1, "id": 1, "position": 1, "depth": 2, "shown": 1, "click": 1,
            "clicks above displays": 1,
        }  # fmt: skip
        assert line_of(log, "fields") == 15
        assert line_of(log, "clicks above displays") == 8
    with open_log(tmp_path / "log", columns={"click": "Click"}) as log:  # a line is a display
        assert log.kind == "slots"
        assert spelled(log.counts())[0]["q", "ad", 1] == (3, 2)
    with pytest.raises(InvalidValue, match="the column of query must be one that"):
        open_log(tmp_path / "log", columns={"query": "q"})


def test_open_bandit(tmp_path: Path) -> None:
    text = (
        ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
        "0,2019-11-24 00:00:17.004101+00:00,79,2,0,0.087125,f\n"
        "1,2019-11-24 00:00:19.715857+00:00,14,1,1,0.006235,f\n"
        "2,yesterday,14,3,0,1.5,f\n"
    )
    with open_log(write(tmp_path / "all.csv", text)) as log:
        assert log.report.format == "open-bandit"
        counts = log.counts()
        assert counts.sessions is None  # which slots were one page is not known
        assert counts.n_impressions == 3
        assert spelled(counts)[0] == {
            ("", "14", 1): (1, 1), ("", "14", 3): (1, 0), ("", "79", 2): (1, 0),
        }  # fmt: skip
        assert problems(log) == {"propensity": 1, "time": 1}
        found = log.impressions()
        assert found.rankings.tolist() == [[-1, 1, -1], [0, -1, -1], [-1, -1, 0]]
        assert found.propensity is not None
        assert found.propensity[0, 1] == 0.087125
        assert np.isnan(found.propensity[2]).all()
        assert found.timestamp is None  # one is unknown
    plain = "".join(text.splitlines(keepends=True)[:3])
    with open_log(write(tmp_path / "all.csv", plain)) as log:
        times = log.impressions().timestamp
        assert times is not None
        assert times.tolist() == [1574553617004101, 1574553619715857]


def test_csv_with_damage(tmp_path: Path) -> None:
    text = (
        b"\xef\xbb\xbfid;q;doc;rank;clicked;when\r\n"
        b'1;"a ""b""";x;0;1;2024-02-03T04:05:06Z\r\n'
        b'1;"a ""b""";y; 1;0.0;2024-02-03T04:05:06Z\r\n'
        b"\r\n"
        b"2;c;x;0;+2;1700000000.5\r\n"
        b"2;c\r\n"
        b"3;c;x;zero;0;\r\n"
        b"4;c;;0;0;\r\n"
        b"5;\xff\xfe;x;0;0;\r\n"
        b"6;c;x;-1;0;\r\n"
        b"7;c;x;1e3;0;\r\n"
        b'8;c;"x;0;0;\r\n'
        b"9;c;x;0;0;2024-02-30\r\n"
        b"10;c;z;0;1;2024-02-03"
    )
    names = {"impression_id": "id", "query": "q", "timestamp": "when"}
    with open_log(write(tmp_path / "log.csv", text), columns=names) as log:
        assert spelled(log.counts())[1] == {
            ('a "b"', ("x", "y"), (1, 0)): 1,
            ("c", ("x",), (1,)): 1,
            ("c", ("x",), (0,)): 1,
            ("c", ("z",), (1,)): 1,
        }
        assert problems(log) == {
            "encoding": 1, "fields": 2, "number": 2, "id": 1, "position": 1, "several clicks": 1,
            "time": 1,
        }  # fmt: skip
        where = {"encoding": 9, "fields": 6, "number": 7, "id": 8, "position": 10, "time": 13}
        assert {kind: line_of(log, kind) for kind in where} == where
        assert log.report.first_position == 0
        assert log.report.columns == {
            "impression_id": "id", "query": "q", "position": "rank", "item": "doc",
            "click": "clicked", "timestamp": "when",
        }  # fmt: skip
    # The first bad line of the file, whatever is wrong with it: take it away, and see the next.
    kept = text.split(b"\n")
    for line, rule in (
        (6, "the line does not have the fields"), (7, "a number"),
        (8, "the list, query or item has no id"),
        (9, "the line is not UTF-8"), (10, "the position"), (11, "a number"),
        (12, "the line does not have the fields"), (13, "a time"),
    ):  # fmt: skip
        with pytest.raises(Malformed, match=rf"log\.csv:{line}: .*: {rule}"):
            open_log(tmp_path / "log.csv", columns=names, strict=True, first_position=0)
        kept[line - 1] = b""
        write(tmp_path / "log.csv", b"\n".join(kept))
    open_log(tmp_path / "log.csv", columns=names, strict=True).close()


def test_strict_reading_of_yandex_and_of_a_file_that_is_cut(tmp_path: Path) -> None:
    lines = tabbed("1 0 Q 7 0 a b c d", "1 x", "1 0 Q 7 0 e").encode() + b"\xff\n"
    with pytest.raises(Malformed, match="log:2: "):
        open_log(write(tmp_path / "log", lines), "yandex-2011", strict=True)
    many = random.Random(0).randbytes(50_000).hex()
    text = "item,position,click\na,1,0\na,one,0\n" + "".join(
        f"{many[k : k + 20]},1,0\n" for k in range(0, 100_000, 20)
    )
    cut = gzip.compress(text.encode())[:-1000]
    with pytest.raises(Malformed, match=r"gz:3: a,one,0: a number"):
        open_log(write(tmp_path / "log.gz", cut), strict=True)


def test_positions_from_0_or_1(tmp_path: Path) -> None:
    head = "impression_id,query,item,position,click\n"
    rows = [f"{i},q,{k},{k},0\n" for i in range(200) for k in (1, 2)]
    stray = write(tmp_path / "stray.csv", head + "".join(rows) + "x,q,0,0,0\n")
    with open_log(stray) as log:  # one 0 among 200 ones is an error in the file
        assert log.report.first_position == 1
        assert problems(log) == {"position": 1}
        assert log.counts().n_impressions == 200
    with open_log(stray, first_position=0) as log:
        counts = log.counts()
        assert log.report.problems["gap"].count == 200
        assert counts.n_impressions == 1
    with open_log(stray, first_position=1) as log:
        assert line_of(log, "position") == 402


def shop_lists(n: int) -> str:
    rng = random.Random(5)
    rows = ["impression_id,query,item,position,click\n"]
    for i in range(n):
        for k, item in enumerate(rng.sample("abcdefgh", 3), 1):
            rows.append(f"{rng.randrange(10**12)}-{i},q{i % 7},{item},{k},{rng.randrange(2)}\n")
    return "".join(rows)


@pytest.mark.parametrize("name", PACKED)
def test_compressed_files(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log", PACKED[name](shop_lists(300).encode()))
    assert recognise(str(path)) == "csv"
    with open_log(path) as log:
        assert log.report.rows == 900
        assert not log.report.problems


def test_log_that_is_cut(tmp_path: Path) -> None:
    data = gzip.compress(shop_lists(3000).encode())
    path = write(tmp_path / "log.csv.gz", data[:-100])
    with open_log(path) as log:
        assert problems(log)["truncated"] == 1
        assert 8000 < log.report.rows < 9000
    with pytest.raises(Malformed, match=r"log\.csv\.gz: Compressed file ended .* is damaged"):
        open_log(path, strict=True)


def test_several_files(tmp_path: Path) -> None:
    for day in (1, 2):
        text = f"impression_id,query,item,position,click\n{day},q,a,1,1\n{day},q,b,2,0\n"
        write(tmp_path / f"day-{day}.csv", text)
    for paths in ([*tmp_path.iterdir()], tmp_path, str(tmp_path / "day-*.csv")):
        with open_log(paths) as log:
            assert log.counts().n_impressions == 2
            assert len(log.report.files) == 2
    write(tmp_path / "day-3.csv", "query,item,position,click\nq,a,1,1\n")
    with pytest.raises(InvalidValue, match=r"day-3\.csv must have the columns"):
        open_log(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("query,item,item,position,click\n", "must have different names"),
        ("query,item,position,click\n", "must have a row that can be read"),
        ("some text\nof no format\n", "position, item, click must be among the columns"),
    ],
)
def test_files_that_hold_no_log(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message), open_log(write(tmp_path / "l", text)) as log:
        log.counts()
    assert [p.name for p in tmp_path.iterdir()] == ["l"]


def test_temporary_files_are_removed(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", shop_lists(10))
    folder = tmp_path / "temporary"
    folder.mkdir()
    with open_log(path, folder=folder, progress=False) as log:
        log.counts()
        assert len(list(folder.iterdir())) == 1
    assert not list(folder.iterdir())
    with pytest.raises(InvalidValue):
        open_log(path, columns={"query": "none"}, folder=folder)
    assert not list(folder.iterdir())


def test_every_column_has_a_meaning() -> None:
    for field in FIELDS.values():
        assert field.metadata is not None
        assert field.metadata[b"description"].endswith(b".")


def test_published_counts_of_yandex() -> None:
    """The log of gauthier2022 counts positions from 0; in 38 cells clicks exceed displays."""
    with open_log(EXPERIMENTS / "Yandex_filtered_compress.csv.gz") as log:
        counts = log.counts()
        assert log.report.kind == "counted"
        assert log.report.first_position == 0
        assert problems(log) == {"clicks above displays": 38}
        assert counts.cells.pair.size == 6144
        assert counts.cells.shown.sum() == 24_726_798
        assert counts.queries.size == 60
        assert counts.n_positions == 10


def test_command(tmp_path: Path) -> None:
    path = write(tmp_path / "log.csv", "q,item,position,click\na,x,1,1\na,y,2,0\nb,x,1,zero\n")
    out = tmp_path / "log.parquet"
    run = CliRunner()
    done = run.invoke(app, ["read", str(path), "--column", "query=q", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "csv (slots)" in done.output
    assert "a number is missing or invalid" in done.output
    done = run.invoke(app, ["read", str(out), "--json", "--positions", "1"])
    found = json.loads(done.output)
    assert (found["rows"], found["clicks"], found["queries"], found["lists"]) == (1, 1, 1, None)
    assert not found["problems"]
    done = run.invoke(app, ["read", str(path), "--column", "query=q", "--strict"])
    assert done.exit_code == 2
    assert "log.csv:4: b,x,1,zero: a number is missing or invalid." in done.output
    for options, message in (
        (["--column", "query"], "--column must be NAME=COLUMN"),
        (["--out", str(path / "file.parquet")], "Not a directory"),
    ):
        done = run.invoke(app, ["read", str(path), *options])
        assert done.exit_code == 2
        assert message in done.output


def test_a_log_that_is_refused_says_why(tmp_path: Path) -> None:
    head = "impression_id,query,item,position,click\n"
    path = write(tmp_path / "log.csv", head + "1,q,a,1,yes\n2,q,a,1,no\n3,q,,1,0\n")
    done = CliRunner().invoke(app, ["read", str(path)])
    assert done.exit_code == 2
    assert "the list, query or item has no id" in done.output  # the table
    assert "The most frequent reason (2 rows): a number is missing or invalid" in done.output
    path = write(tmp_path / "kdd", tabbed("0 1 1 9 1 4 2 7 1 1 1 1"))
    with (
        open_log(path) as log,
        pytest.raises(InvalidValue, match="the page has more than 3 positions"),
    ):
        log.counts()
    path = write(tmp_path / "log.csv", head + "1,q,a,1,0\n1,q,a,2,0\n")
    with open_log(path) as log, pytest.raises(InvalidValue, match="a list has an item twice"):
        log.counts()
    with open_log(path) as log, pytest.raises(InvalidValue, match="the filters must leave rows"):
        log.counts(min_items=2)


def test_clicks_of_truth_values(tmp_path: Path) -> None:
    text = "item,position,click\na,1,True\na,1,FALSE\na,1, true\na,1,0\na,1,1\na,1,truth\n"
    with open_log(write(tmp_path / "log.csv", text)) as log:
        assert spelled(log.counts())[0] == {("", "a", 1): (5, 3)}
        assert problems(log) == {"number": 1}


def test_columns_that_may_name_lists(tmp_path: Path) -> None:
    text = "session_id\tquery\trank\turl\tclicked\n1\tq\t1\ta\t0\n1\tq\t2\tb\t1\n"
    path = write(tmp_path / "log.tsv", text)
    note = "column session_id is not used; read it as impression_id if it identifies lists"
    done = CliRunner().invoke(app, ["read", str(path)])
    assert note in done.output
    assert "slots: each row is one display" in done.output
    with open_log(path, columns={"impression_id": "session_id"}) as log:
        assert (log.kind, log.report.notes) == ("lists", [])
    rows = pa.table({"serp": [1], "position": [1], "item": ["a"], "click": [0]})
    pq.write_table(rows, tmp_path / "log.parquet")
    with open_log(tmp_path / "log.parquet") as log:
        assert log.report.notes[0].startswith("column serp is not used")


def test_empty_lines_are_no_problem(tmp_path: Path) -> None:
    text = b"item,position,click\na,1,0\n\na,1,1\n\xff,1,0\n\r\n"
    with open_log(write(tmp_path / "log.csv", text)) as log:
        assert log.counts().n_impressions == 2
        assert problems(log) == {"encoding": 1}


def test_a_file_that_is_no_log_is_named(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "item,position,click\nx,1,0\n")
    write(tmp_path / "b.csv", "when,title\n1,shoes\n")
    with pytest.raises(InvalidValue, match=r"columns of \S*b\.csv, got \['when', 'title'\]"):
        open_log(tmp_path)
    with pytest.raises(InvalidValue, match=r"one that \S*b\.csv has .*, got 'name'"):
        open_log(tmp_path / "b.csv", columns={"item": "name"})
    pq.write_table(pa.table({"item": ["x"], "position": [1], "click": [0]}), tmp_path / "1.pq")
    with pytest.raises(InvalidValue, match=r"a\.csv must be a complete Parquet file"):
        open_log(tmp_path)
    pq.write_table(pa.table({"item": ["x"], "title": ["x"]}), tmp_path / "2.pq")
    with pytest.raises(InvalidValue, match=r"2\.pq must have the columns"):
        open_log(str(tmp_path / "*.pq"))
