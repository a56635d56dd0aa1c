"""Pages of the papers: made from what is shipped, with links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from clickrank.errors import InvalidValue
from clickrank.experiments import list_experiments
from clickrank.experiments.measured_curves import load_measured
from clickrank.experiments.paper_files import EXPECTED, PAPERS
from clickrank.experiments.paper_pages import FRONT, MISSING, NOT_YET, headline_rows, page_texts
from clickrank.experiments.paper_summaries import PaperSummary, summarise
from clickrank.experiments.printed_numbers import load_printed
from clickrank.experiments.reproduction_report import write_report
from clickrank.experiments.shipped_verdicts import ShippedVerdict, load_verdicts
from clickrank.reports.markdown_pages import plain
from tests.paths import DOCS

PAGES = DOCS / "papers"
PAPER_IDS = [path.parent.name for path in sorted(PAPERS.glob(f"*/{EXPECTED}"))]


@pytest.fixture(scope="module")
def verdicts() -> list[ShippedVerdict]:
    return load_verdicts()


@pytest.fixture(scope="module")
def summaries(verdicts: list[ShippedVerdict]) -> dict[str, PaperSummary]:
    return {summary.paper_id: summary for summary in summarise(verdicts)}


@pytest.fixture(scope="module")
def pages(verdicts: list[ShippedVerdict]) -> dict[str, str]:
    return page_texts(verdicts, load_measured())


def test_committed_pages_are_those_of_the_shipped_results(pages: dict[str, str]) -> None:
    """If not, ``benchmarks/decide.py --pages`` writes them again."""
    committed = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert sorted(committed) == sorted(pages)
    for name, text in pages.items():
        assert committed[name] == text, f"{name} is out of date: benchmarks/decide.py --pages"


def test_there_is_a_page_for_each_paper(pages: dict[str, str]) -> None:
    assert set(pages) == {FRONT, *(f"{paper}.md" for paper in PAPER_IDS)}


def test_links_lead_to_figures_and_pages(pages: dict[str, str]) -> None:
    anchors = {name: set(re.findall(r'<a id="(.+?)"></a>', text)) for name, text in pages.items()}
    for name, text in pages.items():
        # GitHub's identifiers of headings
        heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors[name] |= {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
    for name, text in pages.items():
        links = re.findall(r"\]\(([^)\s]+)\)", text)
        assert links
        for link in links:
            path, _, anchor = link.partition("#")
            assert not path or (PAGES / path).exists(), f"{name}: {link}"
            assert not anchor or anchor in anchors[path or name], f"{name}: {link}"


def test_every_drawing_is_on_a_page_and_they_are_small(pages: dict[str, str]) -> None:
    drawings = list(PAGES.glob("*/*.svg"))
    assert sum(path.stat().st_size for path in drawings) < 3_000_000
    for path in drawings:
        page = pages[f"{path.parent.name}.md"]
        assert f"({path.relative_to(PAGES).as_posix()})" in page


@pytest.mark.parametrize("paper", PAPER_IDS)
def test_pages_have_every_claim_with_its_verdict(
    paper: str, pages: dict[str, str], summaries: dict[str, PaperSummary]
) -> None:
    lines = pages[f"{paper}.md"].splitlines()
    rows = {line for line in lines if line.startswith("|")}
    for one in summaries[paper].claims:
        start = f"| {one.words} | {plain(one.claim.text)} (`{one.claim.id}`) | {one.claim.source} |"
        assert any(row.startswith(start) for row in rows), one.place


@pytest.mark.parametrize("paper", PAPER_IDS)
def test_every_claim_that_fails_says_why(paper: str, summaries: dict[str, PaperSummary]) -> None:
    silent = [
        one.place
        for one in summaries[paper].claims
        if one.verdict.outcome == "fails" and not one.why
    ]
    assert silent == [], f"their why is missing in {paper}/{EXPECTED}"


@pytest.mark.parametrize("paper", PAPER_IDS)
def test_tables_have_the_printed_numbers_next_to_measured_ones(
    paper: str, pages: dict[str, str]
) -> None:
    known = {e.figure_id: e for e in list_experiments() if e.paper_id == paper}
    for table in load_printed(paper).tables:
        begin = pages[f"{paper}.md"].index(f"### {plain(table.title)}\n")
        shown = pages[f"{paper}.md"][begin:].partition("\n### ")[0].splitlines()
        for part in table.parts:
            curves = [spec.curve for spec in known[part.figure].figure.curves()]
            assert set(part.printed) <= set(part.curves or curves)
            assert set(part.curves) <= set(curves)
            for curve, number in part.printed.items():
                start = f"| {part.label} | {curve} | {number} | "
                assert any(line.startswith(start) for line in shown), start


def test_headline_numbers_of_the_papers() -> None:
    """Table 5.3 of gauthier2022 and Table 2 of li2019, as printed."""
    table = load_printed("gauthier-2022").tables[0]
    printed = [number for part in table.parts[:2] for number in part.printed.values()]
    assert printed == ["2 × 10³", "3 × 10⁴", "1 × 10⁴", "1 × 10⁴"]
    (numbers,) = [
        part.printed
        for part in load_printed("li-2019").tables[0].parts
        if part.figure == "figure-2b"
    ]
    assert (numbers["recurrank"], numbers["toprank"]) == ("68,943", "745,177")


def test_what_is_missing_is_said() -> None:
    """A number that is not in the text, and a figure that was not played."""
    table = load_printed("grant-2020").tables[0]
    own = [e for e in list_experiments() if e.paper_id == "grant-2020"]
    rows = headline_rows(table, own, {e.figure_id: None for e in own}).rows
    assert {row[2:] for row in rows} == {(MISSING, NOT_YET, "–", "–")}


@pytest.mark.parametrize("paper", PAPER_IDS)
def test_findings_rest_on_claims_and_vanish_with_them(
    paper: str, verdicts: list[ShippedVerdict], summaries: dict[str, PaperSummary]
) -> None:
    findings = load_printed(paper).findings
    assert len(summaries[paper].findings) == len(findings), "a finding has lost a claim it rests on"
    open_ones = [msgspec.structs.replace(v, outcome="undecided") for v in verdicts]
    (again,) = [s for s in summarise(open_ones) if s.paper_id == paper]
    assert again.findings == []


def test_counts_are_those_of_the_verdicts(
    verdicts: list[ShippedVerdict], summaries: dict[str, PaperSummary], pages: dict[str, str]
) -> None:
    holding = sum(summary.counts.holds for summary in summaries.values())
    assert holding == sum(verdict.outcome == "holds" for verdict in verdicts)
    assert f"| all |  | {holding} | " in pages[FRONT]


def test_why_may_be_given_by_panel(tmp_path: Path) -> None:
    paper = tmp_path / "grant-2020"
    paper.mkdir()
    for path in (PAPERS / "grant-2020").glob("*.toml"):
        (paper / path.name).write_bytes(path.read_bytes())
    found = {
        (e.figure_id, claim.id): claim.why for e in list_experiments(tmp_path) for claim in e.claims
    }
    whys = [found[f"figure-{i}", "known-biases-best"] for i in (1, 2, 3)]
    assert whys[0] == ""
    assert len(set(whys)) == 3
    file = paper / EXPECTED
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("[claims.why]\nfigure-2 =", "[claims.why]\nceiling =", 1), "utf-8")
    with pytest.raises(InvalidValue, match="why names 'ceiling', not its figure"):
        list_experiments(tmp_path)


def test_the_report_begins_with_what_holds_and_what_does_not(tmp_path: Path) -> None:
    page = write_report(tmp_path, [], "quick").read_text(encoding="utf-8")
    heads = [
        "What holds, and what does not",
        "What was found out",
        "What does not hold, and why",
        "What holds<",
        "Experiments of this report",
    ]
    places = [page.index(head) for head in heads]
    assert places == sorted(places)
    front = page[places[0] : places[-1]]
    assert "lists in random order lose less than a tenth of it" in front


@pytest.mark.parametrize(
    ("place", "number", "allowed"),
    [
        ("figure-1b/pie-ts-comparable", "pbm-pie / pbm-ts: 1.65 [", "0.7071 to 1.414 (similar)"),
        ("figure-1b/ts-below-the-bound", "pbm-ts, regret: 43.9 [", "64.38 or less"),
        ("figure-2/table-1", "7 of 8 rows agree", ""),
        ("figure-1b/pie-ts-best", " − pbm-", "above 0"),
    ],
)
def test_the_deciding_number_is_in_words(
    place: str, number: str, allowed: str, summaries: dict[str, PaperSummary]
) -> None:
    (one,) = [claim for claim in summaries["lagree-2016"].claims if claim.place == place]
    assert number in one.deciding_number
    assert one.allowed == allowed
