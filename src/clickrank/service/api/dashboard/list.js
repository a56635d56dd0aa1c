// The page that lists all rankers.

import { get, path } from "./api.js";
import { el, field, keyed, setAttribute, setText } from "./dom.js";
import { ago, count, duration, timeAndDay } from "./format.js";

const PAGE = 100;

export const rankerHash = (name) => `#/rankers/${encodeURIComponent(name)}`;

export function listPage() {
  const rankers = new Map();
  let next = null;
  let loaded = false;

  const search = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const filter = field("Find by name", search);
  const jump = el("a", { class: "button", hidden: true });
  const rows = el("tbody", { role: "rowgroup" });
  const heads = ["Name", "Policy", "Mode", "Items", "Positions", "Window", "Changed"];
  const table = el(
    "table",
    { class: "rankers", role: "table" },
    el("caption", { class: "hidden" }, "Rankers by name"),
    el(
      "thead",
      { role: "rowgroup" },
      el(
        "tr",
        { role: "row" },
        heads.map((head) => el("th", { scope: "col", role: "columnheader" }, head)),
      ),
    ),
    rows,
  );
  const more = el("button", { type: "button", hidden: true, on: { click: loadMore } }, "Show more");
  const empty = el(
    "div",
    { class: "empty", hidden: true },
    el("h2", {}, "No ranker yet"),
    el(
      "p",
      {},
      "A ranker learns from clicks which of your items to show on a page, and in which order. Give it a name and its items, and then send it visitors.",
    ),
    el("p", {}, el("a", { class: "button primary", href: "#/new" }, "Create the first ranker")),
  );
  const none = el(
    "p",
    { class: "none", hidden: true },
    "None of the loaded rankers has this name.",
  );
  const panel = el(
    "section",
    { class: "panel", "aria-label": "All rankers", hidden: true },
    el("div", { class: "tools" }, filter.node, jump),
    table,
    none,
    el("div", { class: "more" }, more),
  );
  const element = el(
    "div",
    {},
    el(
      "div",
      { class: "page-head" },
      el("h1", { tabindex: "-1" }, "Rankers"),
      el("a", { class: "button primary", href: "#/new" }, "New ranker"),
    ),
    empty,
    panel,
  );
  search.addEventListener("input", render);

  async function load(after, signal) {
    const page = await get(path(["rankers"], { after, limit: PAGE }), signal);
    for (const ranker of page.rankers) rankers.set(ranker.name, ranker);
    return page.next;
  }

  async function loadMore() {
    more.disabled = true;
    try {
      next = await load(next);
    } catch {
      window.dispatchEvent(new Event("clickrank:changed")); // refreshing the page reports the error
    } finally {
      more.disabled = false;
    }
    render();
  }

  async function refresh(signal) {
    const fresh = await get(path(["rankers"], { limit: PAGE }), signal);
    if (fresh.next === null) rankers.clear(); // this page has all rankers, so the others were deleted
    if (!loaded || fresh.next === null) next = fresh.next;
    for (const ranker of fresh.rankers) rankers.set(ranker.name, ranker);
    loaded = true;
    render();
  }

  function render() {
    const wanted = search.value.trim();
    const shown = [...rankers.values()]
      .filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    empty.hidden = !loaded || rankers.size > 0;
    panel.hidden = rankers.size === 0;
    table.hidden = shown.length === 0;
    none.hidden = shown.length > 0;
    more.hidden = next === null;
    // The service may have more rankers than are loaded, so any name can be opened.
    jump.hidden = next === null || wanted === "" || rankers.has(wanted);
    setText(jump, `Open “${wanted}”`);
    setAttribute(jump, "href", rankerHash(wanted));
    keyed(rows, shown, ({ name }) => name, makeRow, updateRow);
  }

  return { title: "Rankers", element, refresh, every: 10_000 };
}

function makeRow({ name }) {
  const cell = (kind) => el("td", { class: kind, role: "cell" });
  // The unit is shown on small screens, where the columns have no heads.
  const counted = (kind) =>
    el("td", { class: kind, role: "cell" }, el("span"), el("span", { class: "unit" }), el("span"));
  return el(
    "tr",
    { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, el("a", { href: rankerHash(name) }, name)),
    cell("policy"),
    el("td", { class: "mode", role: "cell" }, el("span", { class: "badge" })),
    counted("items"),
    counted("positions"),
    counted("window"),
    el("td", { class: "changed", role: "cell" }, el("time", {})),
  );
}

function updateRow(row, ranker) {
  const [, policy, mode, items, positions, window, changed] = row.children;
  setText(policy, ranker.policy);
  setText(mode.firstChild, ranker.mode);
  setAttribute(mode.firstChild, "data-mode", ranker.mode);
  const retired = ranker.n_retired > 0 ? ` (+${count(ranker.n_retired)} retired)` : "";
  const show = (node, ...texts) => texts.forEach((text, i) => setText(node.children[i], text));
  show(items, count(ranker.n_items), ranker.n_items === 1 ? " item" : " items", retired);
  show(positions, count(ranker.n_positions), ranker.n_positions === 1 ? " position" : " positions");
  show(window, duration(ranker.window), " window");
  setText(changed.firstChild, ago(ranker.changed));
  setAttribute(changed.firstChild, "datetime", new Date(ranker.changed * 1000).toISOString());
  setAttribute(changed.firstChild, "title", timeAndDay(ranker.changed));
}
