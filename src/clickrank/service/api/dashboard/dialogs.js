// Modal dialogs: they ask for a key or for a confirmation. The browser keeps the focus in them.

import { el, field, freshId } from "./dom.js";

/**
 * Show a form in a dialog. Resolves to the result of `answer`, or to null if it was cancelled.
 *
 * Each question gets a new dialog element, because the browser may report that a dialog was closed
 * only after the next one was opened.
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

/** Ask for a key. Resolves to its secret, or to null. */
export function askKey(refused) {
  const input = el("input", { type: "password", autocomplete: "off", required: true });
  const secret = field("Key", input, {
    hint: "A key with the role admin. The browser keeps it until this tab is closed.",
  });
  if (refused) secret.say("This key is unknown, or it was revoked.");
  return ask("This service requires a key", [secret.node], "Continue", {
    answer: () => input.value.trim(),
    ready: () => input.value.trim() !== "",
  });
}

/** Ask for a confirmation. Resolves to whether it was given. */
export async function confirm(title, text, buttonText, { danger = false } = {}) {
  const said = el("p", { id: freshId("said") }, text);
  return (await ask(title, [said], buttonText, { danger, answer: () => true })) === true;
}

/** Ask for a confirmation by typing a name. Resolves to whether it was given. */
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
