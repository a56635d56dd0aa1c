// Questions that stop everything else: a key, a confirmation. The browser's dialog keeps the focus.

import { el, field, freshId } from "./dom.js";

/**
 * Show a form in a dialog; resolves to what `answer` makes of it, or null if it was left.
 *
 * Each question has a dialog of its own: the browser reports that one was closed only after the
 * next may have been opened.
 */
function ask(title, content, buttonText, { danger = false, answer, ready = () => true }) {
  const titleId = freshId("dialog-title");
  const dialog = el("dialog", { "aria-labelledby": titleId });
  const confirm = el(
    "button",
    { type: "submit", class: danger ? "danger" : "primary" },
    buttonText,
  );
  const cancel = el("button", { type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const form = el(
    "form",
    { method: "dialog" },
    el("h2", { id: titleId }, title),
    ...content,
    el("div", { class: "buttons" }, cancel, confirm),
  );
  const check = () => {
    confirm.disabled = !ready();
  };
  form.addEventListener("input", check);
  check();
  let result = null;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!ready()) return;
    result = answer();
    dialog.close();
  });
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener(
      "close",
      () => {
        dialog.remove();
        resolve(result);
      },
      { once: true },
    );
  });
}

/** The secret of a key, or null. */
export function askKey(refused) {
  const input = el("input", { type: "password", autocomplete: "off", required: true });
  const secret = field("Key", input, {
    hint: "An admin key of this service. It is kept until this tab is closed.",
  });
  if (refused) secret.say("The service does not know this key, or it was revoked.");
  return ask("This service wants a key", [secret.node], "Continue", {
    answer: () => input.value.trim(),
    ready: () => input.value.trim() !== "",
  });
}

/** Whether the answer was yes. */
export async function confirm(title, text, buttonText, { danger = false } = {}) {
  const said = el("p", { id: freshId("said") }, text);
  return (await ask(title, [said], buttonText, { danger, answer: () => true })) === true;
}

/** Whether the name was typed. */
export async function confirmByName(title, text, name, buttonText) {
  const input = el("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const typed = field(`Type ${name} to confirm`, input);
  return (
    (await ask(title, [el("p", {}, text), typed.node], buttonText, {
      danger: true,
      answer: () => true,
      ready: () => input.value === name,
    })) === true
  );
}
