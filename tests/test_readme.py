"""The README's code runs, its commands exist, and every source cited is in the bibliography."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clickrank.clickmodels import CLICK_MODELS
from clickrank.policies import POLICIES
from clickrank.reports.descriptions import policy_entries

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_python_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(block, names)
    assert (tmp_path / "comparison.png").stat().st_size > 1000
    assert (tmp_path / "comparison.npz").exists()


@pytest.mark.parametrize("line", "".join(blocks("console")).splitlines())
def test_commands_run(line: str, tmp_path: Path) -> None:
    assert line.startswith("$ clickrank ")
    command = [str(Path(sys.executable).parent / "clickrank"), *shlex.split(line)[2:]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_table_of_policies_lists_what_they_assume() -> None:
    for entry in policy_entries():
        row = re.search(rf"^\| `{entry.name}` \|.*$", README, re.MULTILINE)
        assert row is not None, entry.name
        assert row[0].split(" | ")[2].partition(";")[0] == entry.assumes.text()


def test_requests_are_those_of_the_page_on_serving() -> None:
    """The test of that page sends them."""
    page = (ROOT / "docs" / "howto" / "serve.md").read_text()
    requests = re.findall(r"^(?:curl .*\n.*|item=.*)\n", "".join(blocks("sh")), re.MULTILINE)
    assert len(requests) == 4
    for request in requests:
        assert f"$ {request}" in page


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    ci = (ROOT / ".ci" / "run").read_text()
    assert "make check" in ci  # which runs `make test`
    assert re.search(r"^check:.*(\n\t.*)*\$\(MAKE\).* test$", makefile, re.MULTILINE)


def test_every_policy_and_model_is_listed() -> None:
    own = [n for n, c in POLICIES.items() if c.__module__.startswith("clickrank.")]
    for name in (*own, *CLICK_MODELS):
        assert f"| `{name}` |" in README, name


def test_links_point_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_sources_are_in_the_bibliography() -> None:
    known = set(re.findall(r"^\| (\w+\d{4}) \|", (ROOT / "docs/bibliography.md").read_text(), re.M))
    cited = set()
    for cls in (*POLICIES.values(), *CLICK_MODELS.values()):
        source = re.search(r"\*\*Source\*\*:(.*?)\n\n", cls.__doc__ or "", re.DOTALL)
        assert source, cls
        cited |= set(re.findall(r"\b[a-z]+\d{4}\b", source.group(1)))
    assert cited <= known
    assert len(cited) >= 5


def test_every_source_is_in_the_bibliography_once() -> None:
    keys = re.findall(r"^\| (\w+\d{4}\w?) \|", (ROOT / "docs/bibliography.md").read_text(), re.M)
    assert len(keys) == len(set(keys))
    assert {"combes2014", "gauthier2021", "gauthier2021a"} <= set(keys)
