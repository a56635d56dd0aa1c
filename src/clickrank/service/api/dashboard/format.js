// Formats numbers, times and durations.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { maximumFractionDigits: 1, minimumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
const minute = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const short = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export const NONE = "–";

export function count(value) {
  return value === null ? NONE : whole.format(value);
}

export function decimal(value) {
  return value === null ? NONE : tenth.format(value);
}

/** Format 0.1234 as "12.3 %". Small rates get more decimals. */
export function percent(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return NONE;
  return `${percentNumber(value)}\u202f%`;
}

export function percentNumber(value) {
  const scaled = value * 100;
  const size = Math.abs(scaled);
  if (scaled === 0 || size >= 99.95) return scaled.toFixed(0);
  if (size >= 1) return scaled.toFixed(1);
  return size < 0.01 ? scaled.toFixed(3) : scaled.toFixed(2);
}

/** Format a probability. It is never rounded to 0 % or 100 %. */
export function probability(value) {
  if (value > 0 && value < 0.005) return "<\u202f1\u202f%";
  if (value < 1 && value > 0.995) return ">\u202f99\u202f%";
  return `${(value * 100).toFixed(0)}\u202f%`;
}

export function time(seconds) {
  return clock.format(seconds * 1000);
}

/** Format a time of the last months, without the year. */
export function timeOfYear(seconds) {
  return short.format(seconds * 1000);
}

export function timeAndDay(seconds) {
  return full.format(seconds * 1000);
}

/** Format the label of a tick at `seconds`; ticks are `step` seconds apart. */
export function tick(seconds, step) {
  const at = seconds * 1000;
  if (step >= 86400) return day.format(at);
  const midnight = new Date(at).getHours() === 0 && new Date(at).getMinutes() === 0;
  if (midnight && step >= 3600) return day.format(at);
  return (step < 60 ? clock : minute).format(at);
}

/** Format how long ago a time was, in seconds to days. */
export function ago(seconds, now = Date.now() / 1000) {
  const past = Math.max(0, Math.round(now - seconds));
  if (past < 60) return `${past} s ago`;
  if (past < 3600) return `${Math.floor(past / 60)} min ago`;
  if (past < 86400) return `${Math.floor(past / 3600)} h ago`;
  return `${Math.floor(past / 86400)} d ago`;
}

export const UNITS = [
  ["seconds", 1],
  ["minutes", 60],
  ["hours", 3600],
  ["days", 86400],
];

/** Convert seconds to the largest unit that gives a whole number: 1800 to [30, "minutes"]. */
export function inUnits(seconds) {
  const [name, size] = UNITS.findLast(([, size]) => seconds % size === 0);
  return [seconds / size, name];
}

export function duration(seconds) {
  const [value, unit] = inUnits(seconds);
  return `${count(value)} ${value === 1 ? unit.slice(0, -1) : unit}`;
}

/** Format a count with its noun: "1 item", "2 items". */
export function plural(value, word) {
  return `${count(value)} ${word}${value === 1 ? "" : "s"}`;
}
