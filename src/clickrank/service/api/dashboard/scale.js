// Scales: round numbers and times for axes, and the interval of a share.

/** Return about `most` round steps that cover 0 to `top`, such as [0, 0.1, 0.2]. */
export function steps(top, most = 5) {
  const rough = (top > 0 ? top : 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((unit) => unit * power).find((unit) => unit >= rough * 0.999);
  const n = Math.ceil(top / step - 1e-9) || 1;
  const marks = Array.from({ length: n + 1 }, (_, i) => i * step);
  // The axis of a share ends at 100 %, which not every step would reach.
  return top <= 1 && marks.at(-1) > 1 ? [0, 0.25, 0.5, 0.75, 1] : marks;
}

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];
const DAY = 86400;

/** Return at most `most` round local times between two times, and their distance in seconds. */
export function times(from, to, most) {
  const span = Math.max(to - from, 1);
  let step = TIMES.find((each) => span / each <= most);
  step ??= DAY * Math.max(1, Math.ceil(span / DAY / most));
  const shift = new Date(from * 1000).getTimezoneOffset() * 60;
  const ticks = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step)
    ticks.push(at);
  return { ticks, step };
}

/** Return Wilson's 95 % interval of a share. It has a positive width even for 0 % and 100 %. */
export function interval(hits, n) {
  const z = 1.959964;
  const middle = (hits + (z * z) / 2) / (n + z * z);
  const half = (z * Math.sqrt((hits * (n - hits)) / n + (z * z) / 4)) / (n + z * z);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
