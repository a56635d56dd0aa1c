// The frame of all pages: opens and refreshes a page, and reports errors.

import { ApiError, keepKey, key } from "./api.js";
import { askKey } from "./dialogs.js";
import { announce, byId, setText } from "./dom.js";
import { ago, time } from "./format.js";
import { listPage } from "./list.js";
import { newPage } from "./new.js";
import { rankerPage } from "./ranker.js";

const SLOWEST_RETRY = 15_000; // milliseconds
const main = byId("main");

let page = null;
let stop = new AbortController();
let timer = null;
let running = false;
let paused = false;
let failures = 0;
let updated = null; // time of the last successful refresh, in seconds since 1970
let asking = false; // whether the prompt for a key is open, or was cancelled

function route() {
  const [where, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [first, second] = where.split("/");
  const query = new URLSearchParams(search);
  if (first === "new") return { key: "new", make: newPage };
  if (first === "rankers" && second) {
    let name = second;
    try {
      name = decodeURIComponent(second);
    } catch {
      // Not a valid address; the service will answer that there is no such ranker.
    }
    const context = query.get("context");
    return { key: `ranker ${name}`, make: () => rankerPage(name, context), context };
  }
  return { key: "list", make: listPage };
}

function open() {
  const to = route();
  if (page?.key === to.key) {
    page.enter?.(to);
    refresh();
    return;
  }
  const first = page === null;
  stop.abort();
  stop = new AbortController();
  page?.close?.();
  page = { ...to.make(), key: to.key };
  updated = null;
  failures = 0;
  hideBanner();
  main.replaceChildren(page.element);
  document.title = `${page.title} · clickrank`;
  if (!first) {
    window.scrollTo(0, 0);
    main.querySelector("h1")?.focus();
  }
  refresh();
}

async function refresh() {
  clearTimeout(timer);
  if (running || stop.signal.aborted) {
    // Pending answers belong to another page or context: drop them and ask again.
    stop.abort();
    stop = new AbortController();
  }
  const { signal } = stop;
  const begun = performance.now();
  running = true;
  try {
    await page.refresh(signal);
    if (signal.aborted) return;
    failures = 0;
    updated = Date.now() / 1000;
    hideBanner();
  } catch (error) {
    if (signal.aborted) return;
    failures += 1;
    complain(error);
  } finally {
    if (!signal.aborted) running = false;
    showStatus();
  }
  // Slow reports are requested less often: they may take at most a fifth of the time.
  const took = performance.now() - begun;
  const patience =
    failures === 0 ? page.every : Math.min(SLOWEST_RETRY, 2000 * 2 ** (failures - 1));
  plan(Math.max(patience, 4 * took));
}

function plan(wait) {
  clearTimeout(timer);
  if (!document.hidden && !paused && !asking && page.every) timer = setTimeout(refresh, wait);
}

function complain(error) {
  if (!(error instanceof ApiError)) {
    console.error(error);
    showBanner(
      "The dashboard failed. The browser's console has the details.",
      "Try now",
      refresh,
    );
  } else if (error.status === 401) {
    prompt(key() !== null);
  } else if (error.status === 404 && page.missing) {
    page.missing(error);
  } else if (error.status === 0) {
    showBanner(
      "The service does not answer. The page shows the last data that were received.",
      "Try now",
      refresh,
    );
  } else {
    showBanner(error.message, "Try now", refresh);
  }
}

async function prompt(refused) {
  if (asking) return;
  asking = true;
  const secret = await askKey(refused);
  asking = false;
  if (secret === null) {
    asking = true; // do not ask again until the button is pressed
    showBanner("This service requires a key.", "Enter a key", () => {
      asking = false;
      prompt(false);
    });
    return;
  }
  keepKey(secret);
  byId("forget").hidden = false;
  refresh();
}

let onBanner = refresh;

function showBanner(text, button, action) {
  onBanner = action;
  setText(byId("banner-text"), text);
  setText(byId("banner-button"), button);
  byId("banner").hidden = false;
}

function hideBanner() {
  const banner = byId("banner");
  if (banner.contains(document.activeElement)) main.focus({ preventScroll: true });
  banner.hidden = true;
}

function showStatus() {
  const status = byId("status");
  const late = failures > 0;
  status.dataset.state = late ? "late" : paused ? "paused" : "fresh";
  let text = "Loading…";
  if (updated !== null) {
    text = late ? `Last updated ${ago(updated)}` : `Updated ${time(updated)}`;
    if (paused) text = `Paused at ${time(updated)}`;
  } else if (late) {
    text = "Not connected";
  }
  setText(byId("updated"), text);
  status.hidden = !page?.every;
  byId("pause").hidden = !page?.every;
}

function showTheme() {
  const theme = document.documentElement.dataset.theme ?? "auto";
  setText(byId("theme"), `Theme: ${theme}`);
}

byId("theme").addEventListener("click", () => {
  const themes = [undefined, "light", "dark"];
  const now = themes.indexOf(document.documentElement.dataset.theme);
  const next = themes[(now + 1) % themes.length];
  if (next === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === undefined) localStorage.removeItem("clickrank-theme");
    else localStorage.setItem("clickrank-theme", next);
  } catch {
    // Without storage the choice holds until the page is closed.
  }
  showTheme();
});

byId("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.currentTarget.setAttribute("aria-pressed", String(paused));
  showStatus();
  if (paused) clearTimeout(timer);
  else refresh();
});

byId("forget").addEventListener("click", (event) => {
  keepKey(null);
  event.currentTarget.hidden = true;
  announce("Key forgotten.");
  refresh();
});

byId("banner-button").addEventListener("click", () => onBanner());

byId("skip").addEventListener("click", (event) => {
  // The part of the address after # selects the page, so the skip link must not change it.
  event.preventDefault();
  main.focus();
});

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (!document.hidden && !paused && !asking && page.every) refresh();
});
window.addEventListener("hashchange", open);
window.addEventListener("clickrank:changed", () => refresh());
window.addEventListener("clickrank:hold", () => {
  clearTimeout(timer);
  stop.abort();
});
window.addEventListener("clickrank:key", () => prompt(key() !== null));
setInterval(showStatus, 5000);

byId("forget").hidden = key() === null;
showTheme();
open();
