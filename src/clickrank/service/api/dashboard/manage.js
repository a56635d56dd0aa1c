// What can be changed of a ranker.

import { ApiError, patch, path, post, remove } from "./api.js";
import { confirm, confirmByName } from "./dialogs.js";
import { announce, el, field, lines, setText } from "./dom.js";
import { duration, plural } from "./format.js";
import { windowField } from "./window.js";

const say = (event) => window.dispatchEvent(new Event(event));

/** Do something to the service, then say so or say why not, at `place`. */
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
    hint: "One a line. They start from what the policy takes a new item for.",
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
      "Its log, its clicks and all it has learned go with it. Download the log first if you may want it.",
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
      added.say("At least one item.");
      added.control.focus();
      return;
    }
    const ok = await act(
      addedOutcome,
      () => post(path(["rankers", name, "items"]), { items }),
      (now) => `Done: the ranker has ${plural(now.n_items, "item")} now.`,
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
      (now) => `The window is ${duration(now.window)} now.`,
    );
    if (ok) touched = false;
    say("clickrank:changed");
  });

  modeButton.addEventListener("click", async () => {
    const live = ranker.mode === "shadow";
    const sure = await confirm(
      live ? `Take ${name} live?` : `Put ${name} back into shadow?`,
      live
        ? "From now on visitors get the lists that it chooses."
        : "From now on the page must send its own order with each request, and visitors get that.",
      live ? "Go live" : "Back to shadow",
    );
    if (!sure) return;
    await act(
      modeOutcome,
      () => patch(path(["rankers", name]), { mode: live ? "live" : "shadow" }),
      (now) => `The ranker is ${now.mode === "live" ? "live" : "in shadow"} now.`,
    );
    say("clickrank:changed");
  });

  deleteButton.addEventListener("click", async () => {
    const text = "This cannot be undone.";
    if (!(await confirmByName(`Delete ${name}?`, text, name, "Delete"))) return;
    say("clickrank:hold"); // nobody asks for what is about to go
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
        "It is never shown again; its history is kept.",
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
          ? "Live: its lists are shown to visitors."
          : "Shadow: the page keeps its own order; the ranker learns beside it.",
      );
      setText(modeButton, live ? "Back to shadow…" : "Go live…");
    },
  };
}
