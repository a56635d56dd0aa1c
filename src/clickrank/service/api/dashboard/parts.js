// Panels, figures and tables of a ranker's page.

import { el, freshId, keyed, setAttribute, setText, svg } from "./dom.js";
import { NONE, count, percent } from "./format.js";
import { steps } from "./scale.js";

export function panel(title, explanation, ...content) {
  const id = freshId("panel");
  return el(
    "section",
    { class: "panel", "aria-labelledby": id },
    el("h2", { id }, title),
    explanation === null ? null : el("p", { class: "explain" }, explanation),
    ...content,
  );
}

export function figure(title, explanation) {
  const value = el("dd", { class: "value" }, NONE);
  const note = el("dd", { class: "note" }, explanation);
  return { node: el("div", { class: "figure" }, el("dt", {}, title), value, note), value, note };
}

export function positionTable() {
  const body = el("tbody");
  const heads = ["Position", "Click rate", "Examination", "Shown", "Clicks"];
  const table = el(
    "table",
    { class: "positions" },
    el("caption", { class: "hidden" }, "Click rate and examination of each position"),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        heads.map((head) => el("th", { scope: "col" }, head)),
      ),
    ),
    body,
  );
  const bar = (tone) => {
    const rect = svg("rect", { class: tone, height: 8, y: 1, rx: 2, width: 0 });
    return el(
      "td",
      { class: "bar" },
      el("span", { class: "value" }),
      svg("svg", { height: 10, "aria-hidden": "true" }, rect),
    );
  };
  const make = () =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }),
      bar("first"),
      bar("second"),
      el("td", { class: "number" }),
      el("td", { class: "number" }),
    );
  function update(entries) {
    const tops = ["click_rate", "examination"].map((key) =>
      steps(Math.max(0.001, ...entries.map((each) => each[key] ?? 0)), 1).at(-1),
    );
    keyed(
      body,
      entries,
      (each) => each.position,
      make,
      (row, each) => {
        const [position, rate, examination, shown, clicks] = row.children;
        setText(position, String(each.position));
        [
          [rate, each.click_rate, tops[0]],
          [examination, each.examination, tops[1]],
        ].forEach(([cell, value, top]) => {
          setText(cell.firstChild, percent(value));
          setAttribute(
            cell.lastChild.firstChild,
            "width",
            `${((100 * (value ?? 0)) / top).toFixed(1)}%`,
          );
        });
        setText(shown, count(each.shown));
        setText(clicks, count(each.clicks));
      },
    );
  }
  return { element: el("div", { class: "scroll-x" }, table), update };
}

export function shadowPanel() {
  const figures = {
    own: figure("Lists of the ranker", "Estimated clicks per impression."),
    page: figure("Lists of the page", "Clicks per impression, by the same estimates."),
    same: figure("Items in common", "Share of the page's items that the ranker would also have shown."),
  };
  const node = panel(
    "Shadow mode",
    "The lists that the ranker would have shown, compared with those of the page.",
    el(
      "dl",
      { class: "figures" },
      Object.values(figures).map((each) => each.node),
    ),
  );
  node.hidden = true;
  function update(report) {
    node.hidden = !report || report.impressions === 0;
    if (node.hidden) return;
    const value = (number) => (number === null ? "not known yet" : number.toFixed(3));
    setText(figures.own.value, value(report.own_value));
    const gain = report.page_value > 0 ? report.own_value / report.page_value - 1 : null;
    const compared =
      gain === null
        ? ""
        : `, ${percent(Math.abs(gain))} ${gain < 0 ? "fewer" : "more"} than the page`;
    setText(figures.own.note, `Estimated clicks per impression${compared}.`);
    setText(figures.page.value, value(report.page_value));
    setText(figures.same.value, percent(report.same_items));
  }
  return { element: node, update };
}
