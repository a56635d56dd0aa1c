"""The dashboard in Chromium on a running service: its content, and its use by keyboard."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from .conftest import PATIENCE, Open, Visit, command, run_service
from .visitors import send_visitors

pytestmark = pytest.mark.browser

ATTRACTION = {"apple": 0.08, "pear": 0.12, "plum": 0.6, "fig": 0.2, "lime": 0.05, "kiwi": 0.35}
ACCESSIBILITY = (Path(__file__).parent / "accessibility.js").read_text()
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    '"><svg onload=alert(3)>',
    "javascript:alert(4)",
    "'; $(touch /tmp/x) `id` \\",
    "{{7*7}} \u202e evil",
]

expect.set_options(timeout=PATIENCE)


def create(address: str, name: str, items: list[str], n_positions: int = 3, **more: object) -> None:
    body = {"name": name, "items": items, "n_positions": n_positions, **more}
    httpx.post(f"{address}/v1/rankers", json=body, trust_env=False).raise_for_status()


def check_accessible(page: Page) -> None:
    assert page.evaluate(ACCESSIBILITY) == []
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wider <= 0, f"the page is {wider} pixels too wide"


def ranker_page(visit: Open, address: str, name: str, **how: object) -> Visit:
    opened = visit(f"{address}/#/rankers/{name}", **how)
    expect(opened.page.get_by_role("heading", level=1, name=name)).to_be_visible()
    expect(opened.page.locator("#updated")).to_have_text(re.compile("^Updated"))
    return opened


def impressions_of(page: Page) -> Locator:
    """Return the figure with the number of impressions."""
    return page.locator(".figure").first.locator(".value")


def chart(page: Page, title: str) -> str:
    """Return the markup of a chart."""
    return str(
        page.evaluate(
            """title => [...document.querySelectorAll("svg.plot")]
                .find((plot) => plot.getAttribute("aria-label").startsWith(title))?.innerHTML""",
            title,
        )
    )


@pytest.fixture(scope="module")
def learned(service: str) -> str:
    """Return the name of a ranker that has seen some visitors."""
    create(service, "learned", list(ATTRACTION))
    send_visitors(service, "learned", ATTRACTION, 300, seed=5)
    retired = {"items": ["lime"]}
    url = f"{service}/v1/rankers/learned/items/retire"
    httpx.post(url, json=retired, trust_env=False).raise_for_status()
    return "learned"


def test_a_ranker_made_in_the_form_is_seen_to_learn(visit: Open, service: str, shots: Path) -> None:
    page = visit(service).page
    page.get_by_role("link", name="New ranker").first.click()
    expect(page.get_by_role("heading", level=1, name="New ranker")).to_be_focused()
    expect(page.get_by_label("Policy", exact=True)).to_have_value("pb-mhb")
    page.get_by_label("Name").fill("fruit")
    page.get_by_label("Items").fill("\n".join(ATTRACTION))
    page.get_by_label("Positions").fill("3")
    page.get_by_label("Window", exact=True).fill("5")
    page.screenshot(path=shots / "form-light.png", full_page=True)
    page.get_by_role("button", name="Create ranker").click()

    expect(page.get_by_role("heading", level=1, name="fruit")).to_be_visible()
    expect(page.get_by_role("region", name="curl snippet")).to_contain_text(
        "/v1/rankers/fruit/rank"
    )
    page.screenshot(path=shots / "empty-light.png", full_page=True)

    send_visitors(service, "fruit", ATTRACTION, 50, seed=1)
    impressions = impressions_of(page)
    expect(impressions).to_have_text("50")
    before = chart(page, "Click rate")
    assert "circle" in before
    send_visitors(service, "fruit", ATTRACTION, 1200, seed=2)
    expect(impressions).to_have_text("1,250")
    assert chart(page, "Click rate") != before
    best = page.get_by_role("list", name="Best list now").get_by_role("listitem")
    expect(best.first).to_contain_text("plum")
    expect(best).to_have_count(3)
    expect(best.nth(1)).to_contain_text("kiwi")
    expect(page.locator("table.items tbody th").first).to_contain_text("plum")
    expect(page.locator(".impression")).to_have_count(20)
    page.screenshot(path=shots / "ranker-light.png", full_page=True)


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_readable(
    visit: Open, service: str, learned: str, shots: Path, scheme: str, width: int
) -> None:
    opened = ranker_page(visit, service, learned, scheme=scheme, width=width)
    opened.expected = re.compile("status of 404")  # for the ranker that does not exist
    page = opened.page
    for summary in page.locator("summary").all():
        summary.click()
    check_accessible(page)
    page.screenshot(path=shots / f"ranker-{scheme}-{width}.png", full_page=True)
    page.get_by_role("button", name="Delete this ranker…").click()
    check_accessible(page)
    page.screenshot(path=shots / f"delete-{scheme}-{width}.png")
    page.keyboard.press("Escape")
    for address in ("#/", "#/new", "#/rankers/nobody"):
        page.goto(f"{service}/{address}")
        expect(page.locator("main a").first).to_be_visible()
        if address == "#/new":
            page.get_by_role("button", name="Create ranker").click()
            expect(page.get_by_label("Name")).to_be_focused()
        check_accessible(page)
        page.screenshot(
            path=shots / f"{address.strip('#/') or 'list'}-{scheme}-{width}.png".replace("/", "-")
        )


def test_the_theme_can_be_chosen_and_is_kept(visit: Open, service: str) -> None:
    page = visit(service, scheme="light").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    button = page.get_by_role("button", name="Theme")
    button.click()
    button.click()
    expect(button).to_have_text("Theme: dark")
    assert page.evaluate(ground) != light
    page.reload()
    expect(button).to_have_text("Theme: dark")
    assert page.evaluate(ground) != light


def test_everything_is_within_reach_of_the_keyboard(
    visit: Open, service: str, learned: str
) -> None:
    page = ranker_page(visit, service, learned).page
    reached = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(80):
        page.keyboard.press("Tab")
        at = page.evaluate(
            """() => {
                const node = document.activeElement;
                if (node === document.body) return null;
                const seen = node.matches(".cursor") ? node.parentElement : node;
                const { outlineStyle, outlineWidth } = getComputedStyle(seen);
                node.dataset.reached = "yes";
                return [node.tagName, outlineStyle !== "none" && outlineWidth !== "0px"];
            }"""
        )
        if at is None:
            break  # past the end: nothing held the focus
        reached.append(at)
    else:
        pytest.fail("the focus does not come to an end")
    assert reached[0][0] == "A"
    assert [tag for tag, outlined in reached if not outlined] == []
    missed = """() => [...document.querySelectorAll("a[href], button, input, select, summary")]
        .concat(...document.querySelectorAll("textarea"))
        .filter((node) => node.checkVisibility() && !node.disabled && !node.dataset.reached)
        .map((node) => node.outerHTML)"""
    assert page.evaluate(missed) == []

    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()

    # A chart is read point by point, and has spoken values.
    cursor = page.get_by_role("slider", name="Click rate over time")
    cursor.focus()
    page.keyboard.press("Home")
    spoken = cursor.get_attribute("aria-valuetext")
    assert spoken is not None
    assert "impressions" in spoken
    expect(page.locator(".readout").first).to_have_text(spoken)

    # A table can be sorted, and marks the sorted column.
    page.get_by_role("button", name="Item", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("table.items thead th.item")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("table.items tbody th").first).to_contain_text("apple")


def test_a_ranker_is_made_and_deleted_by_keyboard(visit: Open, service: str) -> None:
    page = visit(f"{service}/#/new").page
    expect(page.get_by_label("Policy", exact=True)).to_have_value("pb-mhb")
    page.get_by_label("Name").focus()
    page.keyboard.type("typed")
    page.keyboard.press("Tab")
    page.keyboard.type("a\na\n")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Items")).to_be_focused()
    expect(page.locator(".field-error:visible").first).to_have_text("“a” is listed twice.")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("a\nb\nc\nd")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="typed")).to_be_focused()
    button = page.get_by_role("button", name="Delete this ranker…")
    button.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Type typed to confirm")).to_be_focused()
    page.keyboard.type("type")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.type("d")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Rankers")).to_be_focused()
    assert httpx.get(f"{service}/v1/rankers/typed", trust_env=False).status_code == 404


def test_a_question_may_be_asked_again_at_once(visit: Open, service: str) -> None:
    create(service, "asked-twice", ["a", "b", "c"], 2)
    page = ranker_page(visit, service, "asked-twice").page
    button = page.get_by_role("button", name="Delete this ranker…")
    button.focus()
    # The browser reports that a dialog was closed when the next may already be open.
    button.evaluate("""(button) => {
        button.click();
        document.querySelector("dialog[open]").close();
        button.click();
    }""")
    field = page.get_by_label("Type asked-twice to confirm")
    expect(field).to_be_focused()
    page.keyboard.type("asked-twice")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Rankers")).to_be_focused()
    expect(page.locator("dialog")).to_have_count(0)


def test_what_is_changed_here_is_changed_there(visit: Open, service: str) -> None:
    create(service, "changing", ["a", "b", "c"], 2)
    page = ranker_page(visit, service, "changing").page
    page.get_by_label("Add items").fill("d\ne")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator(".badges")).to_contain_text("5 items")
    page.get_by_label("Filter items").fill("e")
    page.get_by_role("button", name="Retire e").click()
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    expect(page.locator("table.items tbody tr.retired")).to_contain_text("e")
    page.get_by_label("Window", exact=True).fill("2")
    page.get_by_label("Unit of the window").select_option("hours")
    page.get_by_role("button", name="Save the window").click()
    expect(page.locator(".badges")).to_contain_text("window of 2 hours")
    for button, mode in (("Back to shadow", "shadow"), ("Go live", "live")):
        page.get_by_role("button", name=f"{button}…").click()
        page.get_by_role("dialog").get_by_role("button", name=button).click()
        expect(page.locator(".badges .badge").first).to_have_text(mode)
    ranker = httpx.get(f"{service}/v1/rankers/changing", trust_env=False).json()
    assert (ranker["n_items"], ranker["n_retired"]) == (4, 1)
    assert (ranker["window"], ranker["mode"]) == (7200, "live")


def test_contexts_are_told_apart(visit: Open, service: str) -> None:
    create(service, "contexts", ["a", "b", "c"], 2)
    url = f"{service}/v1/rankers/contexts/rank"
    for context, n in (("red & blue?", 3), ("#/new", 2)):
        for _ in range(n):
            httpx.post(url, json={"context": context}, trust_env=False).raise_for_status()
    page = ranker_page(visit, service, "contexts").page
    impressions = impressions_of(page)
    expect(impressions).to_have_text("3")  # the one with most, as none came without a context
    page.get_by_label("Context", exact=True).select_option("#/new")
    expect(impressions).to_have_text("2")
    page.reload()
    expect(impressions).to_have_text("2")


def test_ids_from_outside_stay_text(visit: Open, service: str) -> None:
    create(service, "hostile", HOSTILE, 3)
    send_visitors(service, "hostile", dict.fromkeys(HOSTILE, 0.5), 50, seed=3)
    page = ranker_page(visit, service, "hostile").page
    for id_ in HOSTILE:
        expect(page.locator("table.items .id", has_text=id_)).to_have_count(1)
    page.get_by_role("button", name=f"Retire {HOSTILE[0]}").click()
    expect(page.get_by_role("dialog")).to_contain_text(HOSTILE[0])
    page.keyboard.press("Escape")
    page.wait_for_timeout(2500)  # one refresh more
    assert page.locator("main img, main script").count() == 0


def test_a_ranker_starts_in_shadow_from_the_order_of_the_page(visit: Open, service: str) -> None:
    page = visit(f"{service}/#/new").page
    expect(page.get_by_label("Policy", exact=True)).to_have_value("pb-mhb")
    page.get_by_label("Name").fill("beside")
    page.get_by_label("Items").fill("\n".join(ATTRACTION))
    page.get_by_label("Shadow", exact=True).check()
    page.get_by_label("Start from this order").check()
    page.get_by_label("Weight of this order").fill("25")
    page.get_by_role("button", name="Create ranker").click()
    expect(page.locator(".badges .badge").first).to_have_text("shadow")
    url = f"{service}/v1/rankers/beside/rank"
    for _ in range(3):
        httpx.post(
            url, json={"current": ["pear", "fig", "kiwi"]}, trust_env=False
        ).raise_for_status()
    expect(page.get_by_role("heading", name="Shadow mode")).to_be_visible()
    expect(page.locator(".would").first).to_contain_text("apple")


def test_settings_reach_the_policy(visit: Open, service: str) -> None:
    opened = visit(f"{service}/#/new")
    opened.expected = re.compile("status of 422")  # before the settings are given
    page = opened.page
    expect(page.get_by_label("Policy", exact=True)).to_have_value("pb-mhb")
    page.get_by_label("Name").fill("told")
    page.get_by_label("Items").fill("a\nb\nc")
    page.get_by_label("Policy", exact=True).select_option("pbm-ucb")
    page.get_by_role("button", name="Create ranker").click()
    expect(page.get_by_role("alert").locator("visible=true")).to_contain_text("examination")
    page.get_by_label("Settings of the policy").fill('{"examination": [1, 0.5, 0.2]}')
    page.get_by_role("button", name="Create ranker").click()
    expect(page.get_by_role("heading", level=1, name="told")).to_be_visible()
    made = httpx.get(f"{service}/v1/rankers/told", trust_env=False).json()
    assert made["settings"] == {"examination": [1, 0.5, 0.2]}


@pytest.mark.parametrize("mode", ["live", "shadow"])
def test_the_snippets_do_what_they_say(
    visit: Open, service: str, tmp_path: Path, mode: str
) -> None:
    name = f"called-{mode}"
    hostile = ["it's", "$(touch stolen)", '"; touch stolen; "', "`touch stolen`", "<b>", "\\"]
    create(service, name, hostile, 6, mode=mode)
    page = ranker_page(visit, service, name).page
    for language, shell in (("curl", ["bash", "-euc"]), ("Python", [sys.executable, "-c"])):
        snippet = page.locator(f"[aria-label='{language} snippet']").text_content()
        assert snippet is not None
        said = subprocess.run(
            [*shell, snippet], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
        )
        assert "error" not in said.stdout, said.stdout
        assert "it's" in said.stdout
    assert list(tmp_path.iterdir()) == []
    seen = httpx.get(f"{service}/v1/rankers/{name}/impressions", trust_env=False).json()
    assert [one["settled"] for one in seen["impressions"]] == [True, True]


def test_ten_thousand_items_do_not_freeze_it(visit: Open, service: str) -> None:
    create(service, "huge", [f"sku-{i:05d}" for i in range(10_000)], 10, policy="uniform")
    page = ranker_page(visit, service, "huge").page
    rows = page.locator("table.items tbody tr")
    expect(rows).to_have_count(100)
    page.evaluate(
        """() => {
            window.longest = 0;
            new PerformanceObserver((list) => {
                for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
            }).observe({ type: "longtask" });
        }"""
    )
    page.get_by_role("button", name="Show 100 more").click()
    expect(rows).to_have_count(200)
    page.get_by_label("Filter items").fill("sku-0999")
    expect(rows).to_have_count(10)
    page.get_by_label("Filter items").fill("")
    expect(rows).to_have_count(100)
    page.wait_for_timeout(5000)  # two refreshes
    longest = page.evaluate("longest")
    assert longest < 1000, f"it stood still for {longest:.0f} ms"


def test_a_refresh_moves_nothing(visit: Open, service: str) -> None:
    create(service, "steady", list(ATTRACTION))
    send_visitors(service, "steady", ATTRACTION, 400, seed=6)
    page = ranker_page(visit, service, "steady").page
    expect(page.locator(".impression")).to_have_count(20)
    field = page.get_by_label("Add items")
    field.fill("not sent yet")
    field.evaluate("node => node.setSelectionRange(3, 6)")
    page.evaluate(
        """() => {
            window.shift = 0;
            new PerformanceObserver((list) => {
                for (const { value } of list.getEntries()) shift += value;
            }).observe({ type: "layout-shift" });
        }"""
    )
    before = page.evaluate("scrollY")
    send_visitors(service, "steady", ATTRACTION, 100, seed=7)
    impressions = impressions_of(page)
    expect(impressions).to_have_text("500")
    expect(field).to_be_focused()
    expect(field).to_have_value("not sent yet")
    assert field.evaluate("node => [node.selectionStart, node.selectionEnd]") == [3, 6]
    assert page.evaluate("scrollY") == before
    # Browser vendors call 0.1 good. Rows that change places count as shifts, too.
    assert page.evaluate("shift") < 0.1
    expect(page.locator("#live")).to_have_text("")  # changing numbers are not announced


def test_a_pause_pauses(visit: Open, service: str, learned: str) -> None:
    page = ranker_page(visit, service, learned).page
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#updated")).to_have_text(re.compile("^Paused at"))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(3000)
    assert asked == []
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#updated")).to_have_text(re.compile("^Updated"))
    page.wait_for_timeout(500)
    page.evaluate(
        """() => {
            Object.defineProperty(document, "hidden", { value: true, configurable: true });
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    asked.clear()
    page.wait_for_timeout(3000)
    assert asked == []  # the page is hidden
    page.evaluate(
        """() => {
            delete document.hidden;
            document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    page.wait_for_timeout(500)
    assert asked != []


def test_it_says_when_the_service_is_away(visit: Open, service: str, learned: str) -> None:
    opened = ranker_page(visit, service, learned)
    page = opened.page
    opened.expected = re.compile("ERR_INTERNET_DISCONNECTED")
    page.context.set_offline(True)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.locator("#updated")).to_have_text(re.compile("^Last updated"))
    expect(page.locator("table.items tbody tr").first).to_be_visible()
    page.context.set_offline(False)
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#banner")).to_be_hidden()


def test_a_service_with_keys_is_asked_with_one(visit: Open, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/clickrank.db"
    line = command("keys", "add", "people", "--role", "admin", "--store", store)
    made = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
    secret = made.stdout.split()[-1]
    with run_service(store, "--require-keys") as address:
        opened = visit(address)
        opened.expected = re.compile("status of 401")
        page = opened.page
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Key").fill("wrong")
        dialog.get_by_role("button", name="Continue").click()
        expect(dialog).to_contain_text("This key is unknown")
        dialog.get_by_label("Key").fill(secret)
        dialog.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("heading", name="No ranker yet")).to_be_visible()
        page.get_by_role("link", name="New ranker").first.click()
        page.get_by_label("Name").fill("guarded")
        page.get_by_label("Items").fill("a\nb\nc")
        page.get_by_role("button", name="Create ranker").click()
        expect(page.get_by_role("heading", level=1, name="guarded")).to_be_visible()
        snippet = page.get_by_role("region", name="curl snippet")
        expect(snippet).to_contain_text("Authorization: Bearer $CLICKRANK_KEY")
        assert secret not in page.content()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the log").click()
        assert download.value.suggested_filename == "guarded.parquet"
        assert download.value.path().read_bytes()[:4] == b"PAR1"
        page.get_by_role("button", name="Forget key").click()
        expect(dialog).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("alert")).to_contain_text("requires a key")
        page.context.close()
