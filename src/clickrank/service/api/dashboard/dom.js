// Creates and updates elements. Text is never treated as markup, because ids come from users.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else {
      setAttribute(node, name, value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Create an element. `on` holds event handlers; `true` sets an attribute without a value. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function byId(id) {
  return document.getElementById(id);
}

let counter = 0;

/** Return an unused id, for example to connect a label with its field. */
export function freshId(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}

/** Set a text only if it changes, so that a selection in unchanged text is kept. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) {
    node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

const kept = new WeakMap();

/** Show `entries` as children of `parent`. Nodes are reused by key, and the focus is kept. */
export function keyed(parent, entries, keyOf, create, update) {
  const before = kept.get(parent) ?? new Map();
  const after = new Map();
  const focused = parent.contains(document.activeElement) ? document.activeElement : null;
  for (const entry of entries) {
    const key = keyOf(entry);
    after.set(key, before.get(key) ?? create(entry));
  }
  for (const [key, node] of before) if (!after.has(key)) node.remove();
  let place = parent.firstElementChild;
  for (const entry of entries) {
    const node = after.get(keyOf(entry));
    update(node, entry);
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
  }
  kept.set(parent, after);
  if (focused?.isConnected && document.activeElement !== focused) {
    focused.focus({ preventScroll: true });
  }
}

/** Create a labelled field with a hint and a place for an error message. */
export function field(label, control, { hint = null, extra = [] } = {}) {
  control.id ||= freshId("field");
  const hintNode =
    hint === null ? null : el("p", { class: "hint", id: `${control.id}-hint` }, hint);
  const error = el("p", { class: "field-error", id: `${control.id}-error`, hidden: true });
  const described = [hintNode?.id, error.id].filter(Boolean).join(" ");
  control.setAttribute("aria-describedby", described);
  const row = el("div", { class: "field-row" }, control, ...extra);
  const node = el("div", { class: "field" }, el("label", { for: control.id }, label), row);
  node.append(...[hintNode, error].filter(Boolean));
  const say = (text) => {
    setText(error, text ?? "");
    error.hidden = !text;
    setAttribute(control, "aria-invalid", text ? "true" : null);
  };
  control.addEventListener("input", () => say(null));
  return { node, control, hint: hintNode, say };
}

let lastSaid = "";

/** Have screen readers speak a text when they are idle. */
export function announce(text) {
  const live = byId("live");
  lastSaid = text === lastSaid ? `${text}\u00a0` : text;
  live.textContent = lastSaid;
}

/** Return the lines of a text that are not blank, without surrounding spaces. */
export function lines(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
