// The table of items with their estimates. Its rows also form a dot-and-whisker chart.

import { el, field, keyed, setAttribute, setText, svg } from "./dom.js";
import { NONE, count, percent, percentNumber, plural, probability } from "./format.js";
import { steps } from "./scale.js";

const FIRST = 100; // rows shown at first: with many more, each refresh would be slow
const COLUMNS = [
  { key: "item", head: "Item", kind: "item", falls: false },
  { key: "estimate", head: "Estimate", kind: "number estimate", falls: true },
  { key: null, head: "95 % interval", kind: "whisker" },
  { key: "best_probability", head: "In best list", kind: "number best", falls: true },
  { key: "shown", head: "Shown", kind: "number shown", falls: true },
  { key: "clicks", head: "Clicks", kind: "number clicks", falls: true },
  { key: null, head: "Action", kind: "action", quiet: true },
];

function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

/** Create the table. The button of a row calls `retire(item)`. */
export function itemsTable(retire) {
  let items = [];
  let best = new Set();
  let sort = { key: "best_probability", falls: true };
  let limit = FIRST;
  let ticks = [0, 1];

  const search = el("input", { type: "search", autocomplete: "off", spellcheck: "false" });
  const filter = field("Filter items", search);
  const shownText = el("p", { class: "shown-text" });
  const more = el("button", { type: "button", hidden: true }, `Show ${FIRST} more`);
  const axis = svg("svg", { class: "axis", height: 16, "aria-hidden": "true" });
  const heads = COLUMNS.map(makeHead);
  const rows = el("tbody", { role: "rowgroup" });
  const table = el(
    "table",
    { class: "items", role: "table" },
    el("caption", { class: "hidden" }, "Items with their estimates. Buttons in the column heads sort the table."),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
    rows,
  );
  const none = el("p", { class: "none", hidden: true }, "No item matches the filter.");
  const element = el(
    "div",
    {},
    el("div", { class: "tools" }, filter.node, shownText),
    el(
      "div",
      { class: "items-frame", tabindex: "0", role: "region", "aria-label": "Items, table" },
      table,
    ),
    none,
    el("div", { class: "more" }, more),
  );

  search.addEventListener("input", () => {
    limit = FIRST;
    render();
  });
  more.addEventListener("click", () => {
    limit += FIRST;
    render();
  });

  function makeHead({ key, head, kind, falls, quiet }) {
    let content = head;
    if (quiet) content = el("span", { class: "hidden" }, head);
    if (key !== null) {
      const click = () => {
        sort = { key, falls: sort.key === key ? !sort.falls : falls };
        render();
      };
      content = el(
        "button",
        { type: "button", class: "sort", on: { click } },
        head,
        el("span", { class: "arrow", "aria-hidden": "true" }),
      );
    }
    const node = el("th", { scope: "col", role: "columnheader", class: kind }, content);
    if (kind === "whisker") node.append(axis);
    return node;
  }

  function chosen() {
    const wanted = search.value.trim().toLowerCase();
    const found =
      wanted === "" ? [...items] : items.filter(({ item }) => item.toLowerCase().includes(wanted));
    const sign = sort.falls ? -1 : 1;
    return found.sort(
      (a, b) =>
        sign * compare(a[sort.key], b[sort.key]) ||
        -compare(a.estimate, b.estimate) ||
        a.number - b.number,
    );
  }

  function render() {
    const found = chosen();
    const shown = found.slice(0, limit);
    // Rarely shown items have intervals up to 100 %, which must not determine the scale.
    const reach = shown.map((each) => (best.has(each.item) ? each.high : each.estimate) ?? 0);
    ticks = steps(Math.min(1, Math.max(0.01, ...reach) * 1.05), 4);
    if (reach.every((value) => value === 0)) ticks = [0, 0.5, 1];
    heads.forEach((head, i) => {
      const { key } = COLUMNS[i];
      const direction = sort.falls ? "descending" : "ascending";
      setAttribute(head, "aria-sort", key !== null && key === sort.key ? direction : null);
    });
    axis.replaceChildren(
      ...ticks.map((mark, i) => {
        const anchor = i === 0 ? "start" : i === ticks.length - 1 ? "end" : "middle";
        const text = percentNumber(mark).replace(/\.0+$/, "");
        return svg(
          "text",
          { x: place(mark), y: 12, "text-anchor": anchor },
          i === ticks.length - 1 ? `${text}\u202f%` : text,
        );
      }),
    );
    keyed(rows, shown, ({ item }) => item, makeRow, updateRow);
    none.hidden = found.length > 0;
    table.hidden = found.length === 0;
    more.hidden = found.length <= limit;
    const of = found.length < items.length ? ` that match, of ${count(items.length)}` : "";
    setText(shownText, `${count(shown.length)} of ${plural(found.length, "item")}${of}`);
  }

  const place = (value) => `${((100 * Math.min(value, ticks.at(-1))) / ticks.at(-1)).toFixed(2)}%`;

  function makeRow({ item }) {
    const cell = (kind, ...children) => el("td", { class: kind, role: "cell" }, ...children);
    return el(
      "tr",
      { role: "row" },
      el(
        "th",
        { scope: "row", role: "rowheader", class: "item" },
        el("span", { class: "id" }, item),
        el("span", { class: "badge star" }, "best list"),
        el("span", { class: "badge" }, "retired"),
      ),
      cell("number estimate", el("span", { class: "value" }), el("span", { class: "range" })),
      cell("whisker", svg("svg", { height: 20, "aria-hidden": "true" })),
      cell("number best"),
      cell("number shown"),
      cell("number clicks"),
      cell(
        "action",
        el(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `Retire ${item}`,
            on: { click: () => retire(item) },
          },
          "Retire",
        ),
      ),
    );
  }

  function updateRow(row, entry) {
    const [head, estimate, whisker, probable, shown, clicks, action] = row.children;
    const inBest = best.has(entry.item);
    row.classList.toggle("in-best", inBest);
    row.classList.toggle("retired", entry.retired);
    head.children[1].hidden = !inBest;
    head.children[2].hidden = !entry.retired;
    setText(estimate.children[0], percent(entry.estimate));
    const known = entry.low !== null && entry.high !== null;
    setText(
      estimate.children[1],
      known ? `${percentNumber(entry.low)} to ${percentNumber(entry.high)}` : "not shown yet",
    );
    drawWhisker(whisker.firstChild, entry);
    setText(probable, entry.retired ? NONE : probability(entry.best_probability));
    setText(shown, count(entry.shown));
    setText(clicks, count(entry.clicks));
    action.firstChild.hidden = entry.retired;
  }

  function drawWhisker(node, { estimate, low, high }) {
    const top = ticks.at(-1);
    const marks = ticks.map((mark) =>
      svg("line", { class: "grid", x1: place(mark), x2: place(mark), y1: 0, y2: 20 }),
    );
    if (low !== null && high !== null) {
      marks.push(
        svg("line", { class: "whisker-line", x1: place(low), x2: place(high), y1: 10, y2: 10 }),
      );
      // A whisker that extends beyond the axis has no cap.
      for (const end of [low, high]) {
        if (end <= top)
          marks.push(
            svg("line", { class: "whisker-line", x1: place(end), x2: place(end), y1: 6, y2: 14 }),
          );
      }
    }
    if (estimate !== null)
      marks.push(svg("circle", { class: "whisker-dot", cx: place(estimate), cy: 10, r: 4.5 }));
    node.replaceChildren(...marks);
  }

  /** Show the items of a report; `bestList` is its best list. */
  function update(entries, bestList) {
    items = entries.map((entry, number) => ({ ...entry, number }));
    best = new Set(bestList);
    render();
  }

  return { element, update };
}
