// The list of the last impressions, newest first.

import { el, keyed, setAttribute, setText } from "./dom.js";
import { ago, plural, timeAndDay } from "./format.js";

const FIRST = 12; // items of an impression that are always shown; clicked ones are, too

function chip(item, position, clicked) {
  return el(
    "li",
    { class: clicked ? "chip clicked" : "chip", value: position },
    el("span", { class: "place", "aria-hidden": "true" }, String(position)),
    el("span", { class: "id" }, item),
    clicked
      ? el(
          "span",
          { class: "tick" },
          el("span", { "aria-hidden": "true" }, "✓"),
          el("span", { class: "hidden" }, " clicked"),
        )
      : null,
  );
}

function chips(items, clicked) {
  const set = new Set(clicked);
  const shown = items
    .map((item, i) => [item, i])
    .filter(([item, i]) => i < FIRST || set.has(item))
    .map(([item, i]) => chip(item, i + 1, set.has(item)));
  const left = items.length - shown.length;
  if (left > 0) shown.push(el("li", { class: "chip rest" }, `+ ${plural(left, "more item")}`));
  return shown;
}

export function impressionList() {
  const list = el("ol", { class: "impressions" });
  const element = el(
    "div",
    {
      class: "impressions-frame",
      tabindex: "0",
      role: "region",
      "aria-label": "Last impressions, list",
    },
    list,
  );
  const make = () =>
    el(
      "li",
      { class: "impression" },
      el(
        "div",
        { class: "when" },
        el("time", {}),
        el("span", { class: "badge" }),
        el("span", { class: "badge" }),
      ),
      el("ol", { class: "chips" }),
      el("p", { class: "would", hidden: true }),
    );
  const signatures = new WeakMap();

  function show(node, entry) {
    const [when, items, would] = node.children;
    const [at, state, exploring] = when.children;
    setText(at, ago(entry.at));
    setAttribute(at, "datetime", new Date(entry.at * 1000).toISOString());
    setAttribute(at, "title", timeAndDay(entry.at));
    setText(state, entry.settled ? "settled" : "waiting");
    setAttribute(state, "data-state", entry.settled ? "settled" : "open");
    setText(exploring, "exploring");
    setAttribute(exploring, "data-state", "exploring");
    exploring.hidden = !entry.exploring;
    // The items of an impression never change, only its clicks.
    const signature = entry.clicked.join("\n");
    if (signatures.get(node) !== signature) {
      items.replaceChildren(...chips(entry.items, entry.clicked));
      signatures.set(node, signature);
    }
    would.hidden = !entry.would_show;
    if (entry.would_show)
      setText(would, `Would have shown: ${entry.would_show.slice(0, FIRST).join(", ")}`);
  }

  return {
    element,
    update: (impressions) => keyed(list, impressions, ({ id }) => id, make, show),
  };
}
