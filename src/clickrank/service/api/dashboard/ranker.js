// The page of one ranker, refreshed while it is open.

import { ApiError, download, get, path } from "./api.js";
import { announce, el, field, keyed, setAttribute, setText } from "./dom.js";
import { NONE, count, decimal, duration, percent, plural } from "./format.js";
import { impressionList } from "./impressions.js";
import { itemsTable } from "./items.js";
import { lineChart } from "./line.js";
import { rankerHash } from "./list.js";
import { managePanel } from "./manage.js";
import { figure, panel, positionTable, shadowPanel } from "./parts.js";
import { snippets } from "./snippets.js";

const LAST = 20; // impressions shown
const PAGES = 5; // pages of contexts to choose from
const QUIET = 30_000; // milliseconds between two announcements to screen readers

export function rankerPage(name, firstContext) {
  let context = firstContext;
  let spoken = { best: null, at: 0 };
  let answered = null; // the context of the report on the page

  const badges = el("p", { class: "badges" });
  const warned = el("p", { class: "hint", hidden: true });
  const select = el("select", {});
  const contextField = field("Context", select);
  const other = el("input", { type: "text", autocomplete: "off", maxlength: "200" });
  const otherField = field("Another context", other);
  const otherForm = el(
    "form",
    { class: "other", hidden: true },
    otherField.node,
    el("button", { type: "submit" }, "Show"),
  );
  const downloadOutcome = el("p", { class: "outcome", role: "status", hidden: true });
  const save = el("button", { type: "button" }, "Download the log");

  const figures = {
    impressions: figure("Impressions", ""),
    clicks: figure("Clicks", ""),
    rate: figure("Click rate", ""),
    exploring: figure(
      "Exploring",
      "Share of the last impressions that did not show the best list of their time.",
    ),
    regret: figure(
      "Regret, estimated",
      "Clicks lost so far, compared with always showing the best list, by the present estimates.",
    ),
  };
  const best = el("ol", { class: "best", tabindex: "0", "aria-label": "Best list now" });
  const rate = lineChart({
    title: "Click rate over time",
    hits: (bucket) => bucket.clicked,
    word: "Clicked",
    tone: "first",
  });
  const exploring = lineChart({
    title: "Share of exploring impressions over time",
    hits: (bucket) => bucket.exploring,
    word: "Exploring",
    tone: "second",
  });
  const manage = managePanel(name);
  const items = itemsTable((item) => manage.retire(item));
  const positions = positionTable();
  const impressions = impressionList();
  const calls = snippets();
  const shadow = shadowPanel();

  const usePanel = panel(
    "Send it visitors",
    null,
    el(
      "p",
      { class: "explain" },
      "Each visitor takes two requests: one for a list, and one that reports the clicks. This page shows data as soon as the first clicks are final.",
    ),
    calls.element,
  );
  const useDetails = el(
    "details",
    { class: "panel", hidden: true },
    el("summary", {}, el("h2", {}, "How to call it")),
  );
  const overview = el(
    "div",
    {},
    el(
      "dl",
      { class: "panel figures" },
      Object.values(figures).map(({ node }) => node),
    ),
    shadow.element,
    el(
      "div",
      { class: "grid-2" },
      panel("Best list now", "The list that the ranker would show if it stopped exploring now.", best),
      panel(
        "Click rate over time",
        "Share of settled impressions with a click; the band is the 95 % interval of each point.",
        rate.element,
      ),
    ),
  );
  const traffic = el(
    "div",
    {},
    el(
      "div",
      { class: "grid-2 even" },
      panel(
        "Positions",
        "Examination is how often visitors look at a position, relative to the first one.",
        positions.element,
      ),
      panel(
        "Exploring over time",
        "Share of settled impressions that did not show the best list of their time.",
        exploring.element,
      ),
    ),
    panel(
      "Last impressions",
      "Newest first. Clicked items have a tick. For waiting impressions, clicks may still arrive.",
      impressions.element,
    ),
  );
  const filled = [overview, traffic]; // empty before the first visitor
  const learned = el(
    "div",
    {},
    overview,
    panel(
      "Items",
      "The estimate is the probability that a visitor who looks at the item clicks on it.",
      manage.retireOutcome,
      items.element,
    ),
    traffic,
  );
  const missing = el(
    "div",
    { class: "empty", hidden: true },
    el("h2", {}, "No such ranker"),
    el("p", {}, el("a", { class: "button", href: "#/" }, "See all rankers")),
  );
  const tools = el(
    "div",
    { class: "head-tools", hidden: true },
    contextField.node,
    otherForm,
    save,
    downloadOutcome,
  );
  const head = el(
    "div",
    { class: "page-head" },
    el("div", { class: "names" }, el("h1", { tabindex: "-1" }, name), badges, warned),
    tools,
  );
  const rest = el(
    "div",
    { hidden: true },
    usePanel,
    learned,
    useDetails,
    panel("Change", null, manage.element),
  );
  const element = el(
    "div",
    {},
    el("nav", { "aria-label": "Breadcrumb", class: "crumbs" }, el("a", { href: "#/" }, "Rankers")),
    head,
    missing,
    rest,
  );

  const go = (value) => {
    location.hash = `${rankerHash(name)}?${new URLSearchParams({ context: value })}`;
  };
  select.addEventListener("change", () => go(select.value));
  otherForm.addEventListener("submit", (event) => {
    event.preventDefault();
    go(other.value);
  });
  save.addEventListener("click", async () => {
    save.disabled = true;
    downloadOutcome.hidden = true;
    try {
      await download(path(["rankers", name, "log.parquet"]), `${name}.parquet`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      setText(downloadOutcome, error.message);
      downloadOutcome.dataset.kind = "failed";
      downloadOutcome.hidden = false;
    } finally {
      save.disabled = false;
    }
  });

  async function contexts(signal) {
    const all = [];
    let after = null;
    for (let page = 0; page < PAGES; page += 1) {
      const got = await get(path(["rankers", name, "contexts"], { after, limit: 100 }), signal);
      all.push(...got.contexts);
      after = got.next;
      if (after === null) break;
    }
    return { all, more: after !== null };
  }

  async function refresh(signal) {
    const [ranker, known] = await Promise.all([
      get(path(["rankers", name]), signal),
      contexts(signal),
    ]);
    if (
      context === null &&
      !known.all.some((each) => each.context === "" && each.impressions > 0)
    ) {
      // No visitor came without a context: open the context with most visitors.
      const most = known.all.reduce((a, b) => (b.impressions > a.impressions ? b : a), {
        context: "",
        impressions: 0,
      });
      if (most.impressions > 0) context = most.context;
    }
    const query = { context: context ?? "" };
    const [report, activity, last] = await Promise.all([
      get(path(["rankers", name, "report"], query), signal),
      get(path(["rankers", name, "activity"], query), signal),
      get(path(["rankers", name, "impressions"], { ...query, limit: LAST }), signal),
    ]);
    missing.hidden = true;
    tools.hidden = false;
    rest.hidden = false;
    showRanker(ranker);
    showContexts(known, query.context);
    showReport(report, activity);
    positions.update(report.positions);
    shadow.update(report.shadow);
    rate.update(activity.buckets, activity.seconds, firstDay(activity));
    exploring.update(activity.buckets, activity.seconds, null);
    items.update(report.items, report.settled > 0 ? report.best : []); // before that, no list is better than another
    impressions.update(last.impressions);
    manage.update(ranker);
    const some = report.items.filter((each) => !each.retired).map((each) => each.item);
    calls.update(ranker, some.slice(0, ranker.n_positions));
    showEmpty(report);
  }

  function showRanker(ranker) {
    const retired = ranker.n_retired > 0 ? `, ${count(ranker.n_retired)} retired` : "";
    const facts = [
      ["mode", ranker.mode === "live" ? "live" : "shadow"],
      ["policy", ranker.policy],
      ["items", plural(ranker.n_items, "item") + retired],
      ["positions", plural(ranker.n_positions, "position")],
      ["window", `window of ${duration(ranker.window)}`],
    ];
    keyed(
      badges,
      facts,
      ([key]) => key,
      () => el("span", { class: "badge" }),
      (node, [key, text]) => {
        setText(node, text);
        setAttribute(node, "data-mode", key === "mode" ? ranker.mode : null);
      },
    );
    setText(warned, ranker.warnings.join(" "));
    warned.hidden = ranker.warnings.length === 0;
  }

  function showContexts({ all, more }, chosen) {
    const entries = [...all];
    if (!entries.some((each) => each.context === chosen)) {
      entries.unshift({ context: chosen, impressions: 0 });
    }
    keyed(
      select,
      entries,
      (each) => each.context,
      (each) => el("option", { value: each.context }),
      (node, each) => {
        setText(
          node,
          `${each.context === "" ? "(none)" : each.context} · ${count(each.impressions)}`,
        );
      },
    );
    if (document.activeElement !== select) select.value = chosen;
    contextField.node.hidden = entries.length < 2;
    otherForm.hidden = !more;
  }

  function showReport(report, activity) {
    const first = firstDay(activity);
    setText(figures.impressions.value, count(report.impressions));
    setText(
      figures.impressions.note,
      `${count(report.settled)} settled, ${count(report.impressions - report.settled)} waiting for clicks.`,
    );
    setText(figures.clicks.value, count(report.clicks));
    const each = report.settled > 0 ? (report.clicks / report.settled).toFixed(2) : NONE;
    setText(figures.clicks.note, `${each} per settled impression.`);
    setText(figures.rate.value, percent(report.click_rate));
    setText(
      figures.rate.note,
      `Share of settled impressions with a click.${first ? ` First day: ${percent(first.value)}.` : ""}`,
    );
    setText(figures.exploring.value, percent(report.exploration));
    setText(figures.regret.value, report.regret === null ? NONE : decimal(report.regret));
    const byItem = new Map(report.items.map((entry) => [entry.item, entry]));
    const entries = report.best.map((item, i) => ({
      item,
      key: `${i} ${item}`,
      estimate: byItem.get(item)?.estimate ?? null,
    }));
    const make = ({ item }) =>
      el("li", {}, el("span", { class: "id" }, item), el("span", { class: "best-value" }));
    keyed(
      best,
      entries,
      ({ key }) => key,
      make,
      (node, { estimate }) => setText(node.lastChild, percent(estimate)),
    );
    speak(report);
  }

  /** Announce a new best list, but not each time that two items change places. */
  function speak(report) {
    const now = report.best.join(", ");
    if (answered !== report.context || spoken.best === null) {
      answered = report.context;
      spoken = { best: now, at: Date.now() };
    } else if (now !== spoken.best && Date.now() - spoken.at > QUIET) {
      announce(`New best list: ${report.best.slice(0, 5).join(", ")}`);
      spoken = { best: now, at: Date.now() };
    }
  }

  function showEmpty(report) {
    const empty = report.impressions === 0;
    usePanel.hidden = !empty;
    for (const each of filled) each.hidden = empty;
    useDetails.hidden = empty;
    const home = empty ? usePanel : useDetails;
    if (calls.element.parentNode !== home) home.append(calls.element);
  }

  return {
    title: name,
    element,
    refresh,
    every: 2000,
    enter(to) {
      context = to.context;
    },
    missing(error) {
      tools.hidden = true;
      rest.hidden = true;
      missing.hidden = false;
      setText(missing.firstChild, error.message);
    },
  };
}

function firstDay({ first_day: day }) {
  if (!day || day.impressions === 0) return null;
  const running = Date.now() / 1000 - day.at < 86400;
  return {
    value: day.clicked / day.impressions,
    label: running ? "First day so far" : "First day",
  };
}
