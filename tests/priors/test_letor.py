"""Readers of judged queries accept all forms of a line, and their errors name the line."""

import bz2
import gzip
import lzma
import math
import time
import tracemalloc
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse
from sklearn.datasets import load_svmlight_file

from clickrank._core.arrays import Floats
from clickrank.errors import InvalidValue
from clickrank.priors import JudgedQueries, letor, load_example, load_letor, read_letor

SMALL = (
    b"2 qid:10 1:0.5 2:-1.25 3:3e-2 #docid = GX1 inc = 1 prob = 0.5\r\n"
    b"0 qid:10 1:0 2:7 3:NULL \r\n"
    b"\r\n"
    b"# a comment of its own\r\n"
    b"  4.0\tqid:7  1:.5 2:+2. 3:1E+2#end   \r\n"
    b"1 qid:12 2:8"
)
DENSE = np.array([[0.5, -1.25, 0.03], [0, 7, math.nan], [0.5, 2, 100], [0, 8, 0]], np.float32)


def written(path: Path, text: bytes) -> Path:
    path.write_bytes(text)
    return path


def dense(features: object) -> Floats:
    found = features.toarray() if isinstance(features, csr_matrix) else features
    return np.asarray(found, dtype=np.float64)


@pytest.mark.parametrize("sparse", [False, True, None])
def test_forms_of_a_line(tmp_path: Path, sparse: bool | None) -> None:
    path = written(tmp_path / "small.txt", SMALL)
    queries = load_letor(path, sparse=sparse)
    assert queries.qids.tolist() == list(queries) == [10, 7, 12]
    assert queries.grades.tolist() == [2, 0, 4, 1]
    assert queries.offsets.tolist() == [0, 2, 3, 4]
    assert issparse(queries.features) == (sparse is True)
    assert queries.features.dtype == np.float32
    np.testing.assert_array_equal(dense(queries.features), DENSE)
    for query, expected in zip(read_letor(path, sparse=sparse), queries.values(), strict=True):
        assert query.qid == expected.qid
        np.testing.assert_array_equal(query.grades, expected.grades)
        np.testing.assert_array_equal(dense(query.features), dense(expected.features))


def test_null_may_stand_for_a_number(tmp_path: Path) -> None:
    path = written(tmp_path / "small.txt", SMALL.replace(b"NULL", b"nan"))
    assert load_letor(path, null=-1.0).features[1, 2] == -1.0
    kept = load_letor(path, null=0.0, sparse=True).features
    assert isinstance(kept, csr_matrix)
    assert kept.nnz == 8  # zeros are not
    with pytest.raises(InvalidValue, match="null must be a number or NaN, got inf"):
        load_letor(path, null=math.inf)


@pytest.mark.parametrize(
    ("suffix", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed(tmp_path: Path, suffix: str, pack: object) -> None:
    assert callable(pack)
    packed = pack(SMALL)
    path = written(tmp_path / f"small.txt{suffix}", packed)
    np.testing.assert_array_equal(load_letor(path).features, DENSE)
    cut = written(tmp_path / f"cut.txt{suffix}", packed[:-12])
    with pytest.raises(InvalidValue, match=rf"cut\.txt\{suffix}: the file must be readable"):
        load_letor(cut)


def test_queries_are_views(tmp_path: Path) -> None:
    path = written(tmp_path / "small.txt", SMALL)
    for sparse in (False, True):
        queries = load_letor(path, sparse=sparse)
        query = queries[10]
        assert np.shares_memory(query.grades, queries.grades)
        mine, whole = query.features, queries.features
        if isinstance(mine, csr_matrix):
            assert isinstance(whole, csr_matrix)
            assert np.shares_memory(mine.data, whole.data)
            assert np.shares_memory(mine.indices, whole.indices)
        else:
            assert np.shares_memory(mine, whole)
        assert query.n_items == 2
        assert 11 not in queries
        assert len(queries) == 3
        assert queries != load_letor(path, sparse=sparse)  # identity: contents are arrays


def test_take_copies_chosen_queries(tmp_path: Path) -> None:
    path = written(tmp_path / "small.txt", SMALL)
    for sparse in (False, True):
        some = load_letor(path, sparse=sparse).take([2, 0])
        assert some.qids.tolist() == [12, 10]
        assert some.grades.tolist() == [1, 2, 0]
        assert some.sizes.tolist() == [1, 2]
        np.testing.assert_array_equal(dense(some.features), DENSE[[3, 0, 1]])
    with pytest.raises(InvalidValue, match="places must be between 0 and 2, got 3"):
        load_letor(path).take([3])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_may_end_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, sparse: bool
) -> None:
    # Wider lines come later: rows read before must be spread.
    text = SMALL + b"\n3 qid:12 5:1.5\n3 qid:1 1:2 4:4 6:9\n"
    path = written(tmp_path / "small.txt", text)
    wide = np.zeros((6, 6), np.float32)
    wide[:4, :3] = DENSE
    wide[4, 4], wide[5, [0, 3, 5]] = 1.5, (2, 4, 9)
    monkeypatch.setattr(letor, "BLOCK", size)
    queries = load_letor(path, sparse=sparse)
    np.testing.assert_array_equal(dense(queries.features), wide)
    assert queries.grades.tolist() == [2, 0, 4, 1, 3, 3]
    assert queries.sizes.tolist() == [2, 1, 2, 1]
    streamed = list(read_letor(path, sparse=sparse, n_features=6))
    np.testing.assert_array_equal(np.vstack([dense(q.features) for q in streamed]), wide)
    assert [q.qid for q in streamed] == [10, 7, 12, 1]
    narrow = list(read_letor(path, sparse=sparse))  # as wide as what was read
    assert narrow[-1].features.shape == (1, 6)


def test_numbers_are_read_as_python_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    texts = ["0.1", "1e-45", "1e-60", "1e-400", "3.4028234e38", "-0", "12345678901234567890", "1e5"]
    texts += ["0." + "0" * 30 + "123e+30", "100000000000000000000e-20", "16777217", "33554433.5"]
    for digits in (3, 7, 9, 15, 17, 21):
        powers = rng.integers(-30, 30, 300)
        values = (rng.normal(size=300) * 10.0**powers).tolist()
        texts += [f"{value:.{digits}g}" for value in values]
    line = "0 qid:1 " + " ".join(f"{i}:{text}" for i, text in enumerate(texts, 1))
    found = load_letor(written(tmp_path / "one.txt", line.encode()), sparse=False).features
    np.testing.assert_array_equal(found[0], np.array([float(t) for t in texts], np.float32))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"x qid:1 1:2", "a line must start with a grade.*, got 'x'"),
        (b"-1 qid:1 1:2", "a line must start with a grade.*, got '-1'"),
        (b"1.5 qid:1 1:2", "a line must start with a grade.*, got '1.5'"),
        (b"qid:1 1 1:2", "a line must start with a grade.*, got 'qid:1'"),
        (b"1 1:2", "a line must name its query, qid:N, unless query_sizes are given"),
        (b"1 qid:a 1:2", "qid must be a whole number of at least 0, got 'qid:a'"),
        (b"1 qid 1:2", "qid must be a whole number of at least 0, got 'qid'"),
        (b"1 qid:1 qid:1 1:2", "a line must name only one query"),
        (b"1 qid:1 0:2", "a feature must be number:value, .* at least 1, got '0:2'"),
        (b"1 qid:1 1:2 word", "a feature must be number:value, .*, got 'word'"),
        (b"1 qid:1 -1:2", "a feature must be number:value"),
        (b"1 qid:1 99999999999:2", "a feature must be number:value"),
        (b"1 qid:1 1:2 1:3", "feature numbers must increase along the line, got '1:3'"),
        (b"1 qid:1 2:2 1:3", "feature numbers must increase along the line, got '1:3'"),
        (
            b"1 qid:1 1:",
            "a feature's value must be a number within the range of float32, or NULL, got '1:'",
        ),
        (b"1 qid:1 1:0x2", "a feature's value must be a number .*, got '1:0x2'"),
        (b"1 qid:1 1:1.2.3", "a feature's value must be a number"),
        (b"1 qid:1 1:1e", "a feature's value must be a number"),
        (b"1 qid:1 1:inf", "a feature's value must be a number"),
        (b"1 qid:1 1:1e39", "a feature's value must be a number within the range of float32"),
        (b"1 qid:1 1:\xff", "a feature's value must be a number"),
        (b"1 qid:1 9:1", r".* at most twice the largest so far \(3\) unless n_features"),
        (b"1 qid:10 1:1", "the lines of a query must be consecutive, .*, got 'qid:10'"),
    ],
)
def test_errors_name_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes, message: str
) -> None:
    path = written(tmp_path / "bad.txt", SMALL + b"\n1 qid:12 1:1\n" + line + b"\n0 qid:13 1:1\n")
    monkeypatch.setattr(letor, "BLOCK", 128)
    with pytest.raises(InvalidValue, match=rf"bad\.txt, line 8: {message}"):
        load_letor(path, sparse=False)
    with pytest.raises(InvalidValue, match=rf"bad\.txt, line 8: {message}"):
        list(read_letor(path, sparse=False))


def test_more_errors(tmp_path: Path) -> None:
    path = written(tmp_path / "small.txt", SMALL)
    with pytest.raises(InvalidValue, match=r"line 1: .* at most n_features \(2\), got '3:3e-2'"):
        load_letor(path, n_features=2)
    with pytest.raises(InvalidValue, match="n_features must be a whole number"):
        load_letor(path, n_features=0)
    with pytest.raises(InvalidValue, match="must not name its query"):
        load_letor(path, query_sizes=[2, 2])
    with pytest.raises(
        InvalidValue, match="the file must have at least one judged document, got 0"
    ):
        load_letor(written(tmp_path / "empty.txt", b"# nothing\n\n"))
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "absent.txt")


def test_sizes_beside_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "rank", b"0 1:1\n1 1:2\n2 1:3\n")
    sizes = written(tmp_path / "rank.query", b"2\r\n1\n\n")
    for given in (sizes, str(sizes), [2, 1], np.array([2, 1])):
        queries = load_letor(path, query_sizes=given)
        assert [q.grades.tolist() for q in queries.values()] == [[0, 1], [2]]
        assert [q.qid for q in read_letor(path, query_sizes=given)] == [0, 1]
    with pytest.raises(InvalidValue, match="line 3: query_sizes must count every line"):
        load_letor(path, query_sizes=[2])
    with pytest.raises(InvalidValue, match=r"as many documents as query_sizes say \(4\), got 3"):
        load_letor(path, query_sizes=[2, 2])
    with pytest.raises(InvalidValue, match=r"query_sizes\[1\] must be at least 1, got 0"):
        load_letor(path, query_sizes=[2, 0])
    with pytest.raises(InvalidValue, match="query_sizes must be a non-empty vector of whole"):
        load_letor(path, query_sizes=[2.5])
    with pytest.raises(InvalidValue, match=r"bad\.query, line 2: .* got 'x'"):
        load_letor(path, query_sizes=written(tmp_path / "bad.query", b"2\nx\n"))
    with pytest.raises(InvalidValue, match=r"none\.query: the file must have the size"):
        load_letor(path, query_sizes=written(tmp_path / "none.query", b"\n"))


def test_judged_queries_check_their_parts() -> None:
    JudgedQueries(np.zeros((2, 1)), [0, 1], [1, 1])
    for features, grades, sizes, qids, message in (
        ([[1.0]], [0, 1], [2], None, r"the same number of documents, got \(1, 2, 2\)"),
        ([[1.0], [2.0]], [0, 1], [1, 1], [5, 5], "qids must be distinct, got 5"),
        ([[1.0], [2.0]], [0, 1], [1, 1], [5], "qids must have 2 entries, got 1"),
        ([[1.0]], [-1], [1], None, r"grades\[0\] must be at least 0, got -1"),
        ([[1.0]], [0.5], [1], None, "grades must be a non-empty vector of whole numbers"),
        ([["a"]], [0], [1], None, "features must be a matrix of numbers"),
        ([1.0], [0], [1], None, r"features must be a matrix with one row per document, got \(1,\)"),
    ):
        with pytest.raises(InvalidValue, match=message):
            JudgedQueries(features, grades, sizes, qids)


def test_example_is_the_published_one() -> None:
    parts: tuple[Literal["train", "test"], ...] = ("train", "test")
    shapes = ((201, 3005, 1, 27), (50, 768, 6, 24))  # queries, documents, smallest and largest
    for part, shape in zip(parts, shapes, strict=True):
        queries = load_example(part)
        data = Path(letor.__file__).parent / "data"
        packed = data / f"ltr-lightgbm-example-{part}.txt.bz2"
        features, grades = load_svmlight_file(str(packed), n_features=300, dtype=np.float32)
        assert (features != queries.features).nnz == 0
        np.testing.assert_array_equal(grades, queries.grades)
        assert set(queries.grades.tolist()) == {0, 1, 2, 3, 4}
        sizes = queries.sizes
        assert (len(queries), queries.n_rows, sizes.min(), sizes.max()) == shape
    with pytest.raises(InvalidValue, match='part must be "train" or "test"'):
        load_example("vali")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 12,000 lines with 136 features, as in MSLR-WEB30K."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(200):
        values = rng.normal(size=136) * 10.0 ** rng.integers(-3, 5, 136)
        values[rng.random(136) < 0.3] = 0.0
        pairs = " ".join(f"{i}:{value:.6g}" for i, value in enumerate(values.tolist(), 1))
        lines.append(f" qid:%d {pairs} \r\n")
    path = tmp_path_factory.mktemp("letor") / "large.txt"
    with path.open("w", newline="") as file:
        for row in range(12_000):
            file.write(f"{row % 5}" + lines[row % 200] % (row // 100))
    return path


@pytest.mark.parametrize("sparse", [False, True])
def test_memory_holds_one_copy(large: Path, sparse: bool) -> None:
    load_letor(large, sparse=sparse)  # compiled
    tracemalloc.start()
    try:
        queries = load_letor(large, sparse=sparse)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        count = sum(query.n_items for query in read_letor(large, sparse=sparse))
        _, streaming = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    features = queries.features
    held = features.nbytes if isinstance(features, np.ndarray) else (
        features.data.nbytes + features.indices.nbytes + features.indptr.nbytes
    )  # fmt: skip
    assert held > 6_000_000
    block = 6 * letor.BLOCK  # the text of a block and what is read from it
    assert peak < 1.125 * held + block
    assert streaming - before < block
    assert count == queries.n_rows == 12_000


def test_thirty_thousand_lines_a_second(large: Path) -> None:
    load_letor(large)  # compiled
    seconds = []
    for _ in range(3):
        start = time.process_time()
        load_letor(large)
        seconds.append(time.process_time() - start)
    assert 12_000 / min(seconds) > 30_000
