// The form field for a ranker's window: a number and its unit.

import { el, field } from "./dom.js";
import { UNITS, inUnits } from "./format.js";

const LONGEST = 7 * 24 * 3600;

export function windowField(seconds, label = "Window") {
  const unit = el(
    "select",
    { "aria-label": `Unit of the ${label.toLowerCase()}` },
    UNITS.map(([name, size]) => el("option", { value: size }, name)),
  );
  const input = el("input", { type: "number", min: "1", step: "any", required: true });
  const made = field(label, input, {
    hint: "How long to wait for clicks. After that, an impression without clicks counts as not clicked.",
    extra: [unit],
  });
  const read = () => Math.round(input.valueAsNumber * Number(unit.value));
  const show = (value) => {
    const [number, name] = inUnits(value);
    input.value = number;
    unit.value = UNITS.find(([each]) => each === name)[1];
  };
  show(seconds);
  unit.addEventListener("change", () => made.say(null));
  return {
    ...made,
    show,
    seconds: read,
    problem: () => (read() >= 1 && read() <= LONGEST ? null : "Enter a time from one second to seven days."),
  };
}
