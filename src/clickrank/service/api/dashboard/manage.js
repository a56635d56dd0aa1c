// The panel that changes a ranker: its items, window and mode, and deleting it.

import { ApiError, patch, path, post, remove } from "./api.js";
import { confirm, confirmByName } from "./dialogs.js";
import { announce, el, field, lines, setText } from "./dom.js";
import { duration, plural } from "./format.js";
import { windowField } from "./window.js";

const say = (event) => window.dispatchEvent(new Event(event));

/** Perform a change, and show its result or its error at `place`. */
async function act(place, doing, done) {
  place.hidden = true;
  try {
    const result = await doing();
    const text = done(result);
    announce(text);
    setText(place, text);
    place.dataset.kind = "done";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) say("clickrank:key");
    announce(error.message);
    setText(place, error.message);
    place.dataset.kind = "failed";
    place.hidden = false;
    return false;
  }
  place.hidden = false;
  return true;
}

function outcome() {
  return el("p", { class: "outcome", hidden: true });
}

export function managePanel(name) {
  let ranker = null;
  let touched = false;

  const added = field("Add items", el("textarea", { rows: "3", spellcheck: "false" }), {
    hint: "One item per line. New items start from the policy's prior.",
  });
  const addedOutcome = outcome();
  const addForm = el("form", {}, added.node, el("button", { type: "submit" }, "Add"), addedOutcome);

  const window_ = windowField(1800);
  const windowOutcome = outcome();
  const windowForm = el(
    "form",
    { novalidate: true },
    window_.node,
    el("button", { type: "submit" }, "Save the window"),
    windowOutcome,
  );

  const modeText = el("p", { class: "hint" });
  const modeButton = el("button", { type: "button" });
  const modeOutcome = outcome();
  const modeBox = el(
    "div",
    { class: "box" },
    el("h3", {}, "Mode"),
    modeText,
    modeButton,
    modeOutcome,
  );

  const deleteOutcome = outcome();
  const deleteButton = el("button", { type: "button", class: "danger" }, "Delete this ranker…");
  const deleteBox = el(
    "div",
    { class: "box" },
    el("h3", {}, "Delete"),
    el(
      "p",
      { class: "hint" },
      "This also deletes its log, its clicks and everything it has learned. Download the log first if you may need it.",
    ),
    deleteButton,
    deleteOutcome,
  );
  const retireOutcome = outcome();
  const element = el("div", { class: "manage" }, addForm, windowForm, modeBox, deleteBox);

  addForm.addEventListener("submit", async (event) => {
    event.preventDefault();
    const items = [...new Set(lines(added.control.value))];
    if (items.length === 0) {
      added.say("Enter at least one item.");
      added.control.focus();
      return;
    }
    const ok = await act(
      addedOutcome,
      () => post(path(["rankers", name, "items"]), { items }),
      (now) => `Added. The ranker now has ${plural(now.n_items, "item")}.`,
    );
    if (ok) added.control.value = "";
    say("clickrank:changed");
  });

  for (const control of windowForm.querySelectorAll("input, select")) {
    control.addEventListener("input", () => {
      touched = true;
    });
  }
  windowForm.addEventListener("submit", async (event) => {
    event.preventDefault();
    window_.say(window_.problem());
    if (window_.problem()) {
      window_.control.focus();
      return;
    }
    const ok = await act(
      windowOutcome,
      () => patch(path(["rankers", name]), { window: window_.seconds() }),
      (now) => `The window is now ${duration(now.window)}.`,
    );
    if (ok) touched = false;
    say("clickrank:changed");
  });

  modeButton.addEventListener("click", async () => {
    const live = ranker.mode === "shadow";
    const sure = await confirm(
      live ? `Take ${name} live?` : `Put ${name} back into shadow mode?`,
      live
        ? "Visitors will see the lists that the ranker chooses."
        : "Visitors will see the page's lists, which each request must then contain.",
      live ? "Go live" : "Back to shadow",
    );
    if (!sure) return;
    await act(
      modeOutcome,
      () => patch(path(["rankers", name]), { mode: live ? "live" : "shadow" }),
      (now) => `The ranker is now ${now.mode === "live" ? "live" : "in shadow mode"}.`,
    );
    say("clickrank:changed");
  });

  deleteButton.addEventListener("click", async () => {
    const text = "This cannot be undone.";
    if (!(await confirmByName(`Delete ${name}?`, text, name, "Delete"))) return;
    say("clickrank:hold"); // stop refreshing a ranker that is about to be deleted
    const ok = await act(
      deleteOutcome,
      () => remove(path(["rankers", name])),
      () => `${name} is deleted.`,
    );
    if (ok) location.hash = "#/";
    else say("clickrank:changed");
  });

  return {
    element,
    retireOutcome,
    async retire(item) {
      const sure = await confirm(
        `Retire “${item}”?`,
        "It will not be shown again. Its history is kept.",
        "Retire",
      );
      if (!sure) return;
      await act(
        retireOutcome,
        () => post(path(["rankers", name, "items", "retire"]), { items: [item] }),
        () => `“${item}” is retired.`,
      );
      say("clickrank:changed");
    },
    update(now) {
      ranker = now;
      if (!touched && !windowForm.contains(document.activeElement)) window_.show(now.window);
      const live = now.mode === "live";
      setText(
        modeText,
        live
          ? "Live: visitors see the lists of the ranker."
          : "Shadow: visitors see the lists of the page, and the ranker learns from their clicks.",
      );
      setText(modeButton, live ? "Back to shadow…" : "Go live…");
    },
  };
}
