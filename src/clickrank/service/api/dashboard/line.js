// A chart of a share over time with its 95 % band. Mouse and arrow keys select points to read.

import { el, keyed, setAttribute, setText, svg } from "./dom.js";
import { count, percent, tick, time, timeOfYear } from "./format.js";
import { interval, steps, times } from "./scale.js";

const HEIGHT = 220;
const MARGIN = { top: 10, right: 12, bottom: 26, left: 48 };

/**
 * Create a chart. `hits` returns the number of a bucket's impressions to count; `tone` is the
 * colour of the line. `update(buckets, seconds, baseline)` draws; baseline is null or
 * {value, label}.
 */
export function lineChart({ title, hits, word, tone }) {
  let data = { points: [], seconds: 60, baseline: null };
  let at = null; // index of the selected point; null for the last one
  let width = 0;

  const plot = svg("svg", {
    class: `plot ${tone}`,
    role: "img",
    height: HEIGHT,
    "aria-label": title,
  });
  const cursor = el("input", {
    type: "range",
    class: "cursor",
    min: "0",
    value: "0",
    step: "1",
    "aria-label": `${title}: read point by point`,
  });
  const readout = el("p", { class: "readout" }, "\u00a0");
  const none = el(
    "p",
    { class: "nothing" },
    "There are no data yet. The first point appears when impressions settle.",
  );
  const frame = el("div", { class: "chart" }, plot, cursor, none);
  const body = el("tbody");
  const heads = ["From", "Impressions", word, "Share"];
  const table = el(
    "table",
    { class: "plain" },
    el("caption", { class: "hidden" }, title),
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
  const scroll = el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, table` },
    table,
  );
  const details = el(
    "details",
    { on: { toggle: fillTable } },
    el("summary", {}, "Show as a table"),
    scroll,
  );
  const element = el("div", { class: "chart-block" }, readout, frame, details);

  new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (now !== width) {
      width = now;
      draw();
    }
  }).observe(frame);
  plot.addEventListener("pointermove", (event) => {
    const x = event.clientX - plot.getBoundingClientRect().left;
    read(nearest(x));
  });
  plot.addEventListener("pointerleave", () => read(null));
  cursor.addEventListener("input", () => read(Number(cursor.value)));
  cursor.addEventListener("focus", () => read(Number(cursor.value)));
  cursor.addEventListener("blur", () => read(null));

  const domain = () => {
    const { points, seconds } = data;
    return [points[0].at, Math.max(points.at(-1).at, points[0].at + seconds)];
  };
  const x = (when) => {
    const [from, to] = domain();
    return MARGIN.left + ((when - from) / (to - from)) * (width - MARGIN.left - MARGIN.right);
  };
  let top = 1;
  const y = (value) =>
    HEIGHT - MARGIN.bottom - (Math.min(value, top) / top) * (HEIGHT - MARGIN.top - MARGIN.bottom);

  function nearest(place) {
    let best = null;
    data.points.forEach((point, i) => {
      if (
        best === null ||
        Math.abs(x(point.at) - place) < Math.abs(x(data.points[best].at) - place)
      )
        best = i;
    });
    return best;
  }

  function read(i) {
    at = i;
    drawCursor();
  }

  function describe(point) {
    return `${timeOfYear(point.at)}: ${percent(point.value)}, ${count(point.hits)} of ${count(point.n)} impressions`;
  }

  /** Return the points in groups without gaps. */
  function runs() {
    const all = [];
    data.points.forEach((point, i) => {
      const before = data.points[i - 1];
      if (before && point.at - before.at <= 1.5 * data.seconds) all.at(-1).push(point);
      else all.push([point]);
    });
    return all;
  }

  function draw() {
    plot.setAttribute("width", width);
    plot.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    plot.replaceChildren();
    const { points, baseline } = data;
    if (width === 0 || points.length === 0) return;
    const values = points.map(({ value }) => value);
    const marks = steps(Math.min(1, Math.max(...values, baseline?.value ?? 0, 0.01) * 1.08), 4);
    top = marks.at(-1);
    for (const mark of marks) {
      plot.append(
        svg("line", {
          class: "grid",
          x1: MARGIN.left,
          x2: width - MARGIN.right,
          y1: y(mark),
          y2: y(mark),
        }),
        svg(
          "text",
          { class: "tick", x: MARGIN.left - 8, y: y(mark) + 4, "text-anchor": "end" },
          percent(mark).replace(/\.0+(?=\D)/, ""),
        ),
      );
    }
    const { ticks, step } = times(...domain(), Math.max(2, Math.floor(width / 110)));
    for (const when of ticks) {
      const anchor = x(when) > width - 40 ? "end" : x(when) < MARGIN.left + 20 ? "start" : "middle";
      plot.append(
        svg("line", {
          class: "grid",
          x1: x(when),
          x2: x(when),
          y1: HEIGHT - MARGIN.bottom,
          y2: HEIGHT - MARGIN.bottom + 5,
        }),
        svg(
          "text",
          { class: "tick", x: x(when), y: HEIGHT - 7, "text-anchor": anchor },
          tick(when, step),
        ),
      );
    }
    for (const run of runs()) {
      const path = (list, of) =>
        list.map((point) => `${x(point.at).toFixed(1)},${y(of(point)).toFixed(1)}`).join(" L");
      const band = `M${path(run, (p) => p.high)} L${path([...run].reverse(), (p) => p.low)} Z`;
      plot.append(svg("path", { class: "band", d: band }));
      plot.append(svg("path", { class: "line", d: `M${path(run, (p) => p.value)}` }));
      if (points.length <= 40 || run.length === 1) {
        for (const point of run)
          plot.append(
            svg("circle", { class: "mark", r: 2.5, cx: x(point.at), cy: y(point.value) }),
          );
      }
    }
    if (baseline) {
      const label = `${baseline.label} ${percent(baseline.value)}`;
      plot.append(
        svg("line", {
          class: "baseline",
          x1: MARGIN.left,
          x2: width - MARGIN.right,
          y1: y(baseline.value),
          y2: y(baseline.value),
        }),
        svg(
          "text",
          {
            class: "baseline-label",
            x: width - MARGIN.right - 4,
            y: HEIGHT - MARGIN.bottom - 8,
            "text-anchor": "end",
          },
          `- - ${label}`,
        ),
      );
    }
    plot.append(
      svg("line", { class: "reading", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom }),
      svg("circle", { class: "reading-mark", r: 4.5 }),
    );
    drawCursor();
  }

  function drawCursor() {
    const { points } = data;
    const point = points[at ?? points.length - 1];
    if (!point) return;
    const [line, mark] = [plot.querySelector(".reading"), plot.querySelector(".reading-mark")];
    if (line === null) return;
    setAttribute(line, "x1", x(point.at));
    setAttribute(line, "x2", x(point.at));
    setAttribute(mark, "cx", x(point.at));
    setAttribute(mark, "cy", y(point.value));
    line.classList.toggle("on", at !== null);
    setText(readout, (at === null ? "Latest: " : "") + describe(point));
    setAttribute(cursor, "aria-valuetext", describe(point));
  }

  function fillTable() {
    if (!details.open) return;
    const newestFirst = [...data.points].reverse();
    const make = () =>
      el(
        "tr",
        {},
        heads.map(() => el("td")),
      );
    keyed(
      body,
      newestFirst,
      (point) => point.at,
      make,
      (row, point) => {
        const cells = [
          timeOfYear(point.at),
          count(point.n),
          count(point.hits),
          percent(point.value),
        ];
        cells.forEach((text, i) => setText(row.children[i], text));
      },
    );
  }

  function update(buckets, seconds, baseline) {
    const points = buckets
      .filter((bucket) => bucket.impressions > 0)
      .map((bucket) => {
        const [low, high] = interval(hits(bucket), bucket.impressions);
        return {
          at: bucket.at,
          n: bucket.impressions,
          hits: hits(bucket),
          value: hits(bucket) / bucket.impressions,
          low,
          high,
        };
      });
    // A reader who selected the last point by keyboard stays at the last point.
    const atEnd =
      Number(cursor.value) === data.points.length - 1 || document.activeElement !== cursor;
    data = { points, seconds, baseline };
    cursor.max = String(Math.max(0, points.length - 1));
    cursor.disabled = points.length === 0;
    none.hidden = points.length > 0;
    details.hidden = points.length === 0;
    if (points.length === 0) setText(readout, "\u00a0");
    if (atEnd) cursor.value = cursor.max;
    if (at !== null)
      at =
        document.activeElement === cursor ? Number(cursor.value) : Math.min(at, points.length - 1);
    const last = points.at(-1);
    const text = last
      ? `${title}. Latest, at ${time(last.at)}: ${percent(last.value)}.`
      : `${title}: no data yet.`;
    setAttribute(
      plot,
      "aria-label",
      baseline ? `${text} ${baseline.label}: ${percent(baseline.value)}.` : text,
    );
    draw();
    fillTable();
  }

  return { element, update };
}
