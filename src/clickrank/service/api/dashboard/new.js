// The form that creates a ranker.

import { ApiError, get, path, post } from "./api.js";
import { announce, el, field, freshId, lines, setText } from "./dom.js";
import { count, plural } from "./format.js";
import { rankerHash } from "./list.js";
import { windowField } from "./window.js";

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const MOST_ITEMS = 100_000;
const LONGEST_ITEM = 200;
const MOST_POSITIONS = 100;
const DEFAULT_POLICY = "pb-mhb";

function choice(group, value, title, text, checked) {
  const input = el("input", { type: "radio", name: group, value, id: freshId("choice"), checked });
  const hint = el("span", { class: "hint", id: `${input.id}-hint` }, text);
  input.setAttribute("aria-describedby", hint.id);
  return el(
    "div",
    { class: "choice" },
    input,
    el("div", {}, el("label", { for: input.id }, title), hint),
  );
}

export function newPage() {
  let policies = [];
  const name = field(
    "Name",
    el("input", {
      type: "text",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: "100",
      required: true,
    }),
    {
      hint: "Letters, digits, dots, dashes and underscores, such as shop-front.",
    },
  );
  const items = field("Items", el("textarea", { rows: "8", spellcheck: "false", required: true }), {
    hint: "Your ids of the items, one per line.",
  });
  const positions = field(
    "Positions",
    el("input", {
      type: "number",
      min: "1",
      max: String(MOST_POSITIONS),
      value: "3",
      required: true,
    }),
    {
      hint: "Number of items that a visitor sees.",
    },
  );
  const policy = field("Policy", el("select", {}), { hint: "Loading the policies…" });
  const settings = field(
    "Settings of the policy",
    el("textarea", { rows: "2", spellcheck: "false", placeholder: "{}" }),
    { hint: "A JSON object with parameters of the policy, as its documentation names them." },
  );
  const more = el("details", {}, el("summary", {}, "Settings"), settings.node);
  const window_ = windowField(1800);
  const mode = el(
    "fieldset",
    {},
    el("legend", {}, "Mode"),
    choice("mode", "live", "Live", "Visitors see the lists of the ranker.", true),
    choice(
      "mode",
      "shadow",
      "Shadow",
      "Visitors see the lists of the page. The ranker learns from their clicks and logs what it would have shown.",
      false,
    ),
  );
  const start = el("input", { type: "checkbox", id: freshId("start") });
  const startHint = el("span", { class: "hint", id: `${start.id}-hint` });
  start.setAttribute("aria-describedby", startHint.id);
  const weight = field(
    "Weight of this order",
    el("input", { type: "number", min: "0.1", max: "1000000", step: "any", value: "10" }),
    {
      hint: "The number of views of each item that the order counts for. With a higher weight, it takes more clicks to change the order.",
    },
  );
  weight.node.hidden = true;
  const error = el("p", { class: "form-error", role: "alert", hidden: true, tabindex: "-1" });
  const submit = el("button", { type: "submit", class: "primary" }, "Create ranker");
  const form = el(
    "form",
    { class: "panel form", novalidate: true },
    name.node,
    items.node,
    el("div", { class: "side-by-side" }, positions.node, window_.node),
    el("div", {}, policy.node, more),
    mode,
    el(
      "fieldset",
      {},
      el("legend", {}, "Start"),
      el(
        "div",
        { class: "choice" },
        start,
        el("div", {}, el("label", { for: start.id }, "Start from this order"), startHint),
      ),
      weight.node,
    ),
    error,
    el("div", { class: "buttons" }, el("a", { class: "button", href: "#/" }, "Cancel"), submit),
  );
  const element = el(
    "div",
    { class: "narrow" },
    el("nav", { "aria-label": "Breadcrumb", class: "crumbs" }, el("a", { href: "#/" }, "Rankers")),
    el("h1", { tabindex: "-1" }, "New ranker"),
    form,
  );

  items.control.addEventListener("input", () => {
    const ids = lines(items.control.value);
    setText(
      items.hint,
      ids.length === 0 ? "Your ids of the items, one per line." : `${plural(ids.length, "item")}, one per line.`,
    );
  });
  policy.control.addEventListener("change", showPolicy);
  start.addEventListener("change", () => {
    weight.node.hidden = !start.checked;
  });
  form.addEventListener("submit", create);

  function showPolicy() {
    const chosen = policies.find((each) => each.name === policy.control.value);
    if (!chosen) return;
    const { assumed, needs } = assumptions(chosen);
    const wants = needs.length > 0 ? ` Required settings: ${needs.join(", ")}.` : "";
    const subsets = chosen.takes_candidates ? "" : " It cannot rank a subset of its items.";
    const cautions = chosen.cautions.map((each) => ` ${each}`).join("");
    setText(policy.hint, `${chosen.summary} Assumes ${assumed}.${wants}${subsets}${cautions}`);
    if (needs.length > 0) more.open = true;
    start.disabled = !chosen.takes_priors;
    if (!chosen.takes_priors) start.checked = false;
    weight.node.hidden = !start.checked;
    const able = namesOf(policies.filter((each) => each.takes_priors));
    setText(
      startHint,
      chosen.takes_priors
        ? "The items above are in the present order of the page, best first."
        : `${chosen.name} cannot start from a given order; ${able} can.`,
    );
  }

  async function refresh(signal) {
    if (policies.length > 0) return;
    policies = (await get(path(["policies"]), signal)).policies;
    const option = ({ name }) =>
      el("option", { value: name, selected: name === DEFAULT_POLICY }, name);
    const [ready, others] = [true, false].map((none) =>
      policies.filter((each) => (assumptions(each).needs.length === 0) === none),
    );
    policy.control.replaceChildren(
      el("optgroup", { label: "Ready to use" }, ready.map(option)),
      el("optgroup", { label: "With required settings" }, others.map(option)),
    );
    showPolicy();
  }

  /** Return the settings, or null if they are not a JSON object. */
  function readSettings() {
    try {
      const read = JSON.parse(settings.control.value.trim() || "{}");
      return read !== null && typeof read === "object" && !Array.isArray(read) ? read : null;
    } catch {
      return null;
    }
  }

  /** Check all fields, show their errors, and return the invalid ones. */
  function check() {
    const ids = lines(items.control.value);
    const seen = new Set();
    const twice = ids.find((id) => seen.size === seen.add(id).size);
    const long = ids.find((id) => [...id].length > LONGEST_ITEM);
    const wanted = positions.control.valueAsNumber;
    const wrong = [];
    const say = (field, text) => {
      field.say(text);
      if (text) wrong.push(field);
    };
    say(
      name,
      NAME.test(name.control.value.trim())
        ? null
        : "A name begins with a letter or digit and contains only letters, digits, dots, dashes and underscores.",
    );
    let itemsError = null;
    if (ids.length === 0) itemsError = "Enter at least one item.";
    else if (ids.length > MOST_ITEMS) itemsError = `Enter at most ${count(MOST_ITEMS)} items.`;
    else if (twice !== undefined) itemsError = `“${twice}” is listed twice.`;
    else if (long !== undefined)
      itemsError = `An id may have at most ${LONGEST_ITEM} characters: “${long.slice(0, 30)}…” is longer.`;
    say(items, itemsError);
    const most = Math.min(MOST_POSITIONS, ids.length || MOST_POSITIONS);
    say(
      positions,
      Number.isInteger(wanted) && wanted >= 1 && wanted <= most
        ? null
        : `Enter a whole number from 1 to ${most}, and not more than the number of items.`,
    );
    say(window_, window_.problem());
    say(settings, readSettings() ? null : 'Enter a JSON object, such as {"horizon": 10000}.');
    if (!readSettings()) more.open = true;
    const worth = weight.control.valueAsNumber;
    say(
      weight,
      !start.checked || (worth > 0 && worth <= 1e6) ? null : "Enter a number above 0 and at most 1,000,000.",
    );
    return wrong;
  }

  async function create(event) {
    event.preventDefault();
    error.hidden = true;
    const wrong = check();
    if (wrong.length > 0) {
      wrong[0].control.focus();
      return;
    }
    const ids = lines(items.control.value);
    const body = {
      name: name.control.value.trim(),
      items: ids,
      n_positions: positions.control.valueAsNumber,
      policy: policy.control.value || DEFAULT_POLICY,
      settings: readSettings(),
      window: window_.seconds(),
      mode: new FormData(form).get("mode"),
    };
    if (start.checked) body.start = { ranking: ids, weight: weight.control.valueAsNumber };
    submit.disabled = true;
    try {
      const made = await post(path(["rankers"]), body);
      announce(`Ranker ${made.name} created.`);
      location.hash = rankerHash(made.name);
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      setText(error, problem.status === 401 ? "The service requires a key." : problem.message);
      error.hidden = false;
      error.focus();
      if (problem.status === 401) window.dispatchEvent(new Event("clickrank:key"));
    } finally {
      submit.disabled = false;
    }
  }

  return { title: "New ranker", element, refresh, every: 0 };
}

const MODELS = new Map([
  ["pbm", "position-based"],
  ["dcm", "dependent-click"],
  ["dctr", "document-based"],
  ["dbn", "dynamic Bayesian"],
  ["ubm", "user-browsing"],
  ["mnl", "multinomial-logit"],
]);

/** Return the assumptions of a policy in words, and its required settings. */
function assumptions(policy) {
  const [model, ...others] = policy.assumes.split(", ");
  const clicks = model.replace(/\w+/g, (word) => MODELS.get(word) ?? word);
  const assumed = [clicks, ...others].join(", ");
  const needs = policy.settings.filter((each) => each.required).map((each) => each.name);
  return { assumed, needs };
}

function namesOf(policies) {
  const names = policies.map(({ name }) => name);
  const some = names.includes(DEFAULT_POLICY)
    ? [DEFAULT_POLICY, ...names.filter((n) => n !== DEFAULT_POLICY)]
    : names;
  return some.length > 4 ? `${some.slice(0, 4).join(", ")} and others` : some.join(", ");
}
