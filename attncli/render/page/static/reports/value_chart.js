/* A chart of the numbers of a row over the values of what is varied, the number in view in front. */

import { make, makeSvg } from "../elements.js";
import { decimalText, numberStyle } from "../numerals.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [520, 200, 56, 34, 12, 16];
const MOST_TICKS = 12; // of the values; of more some are left out

/**
 * A chart of `series`, each `{label, numbers, isInView}` with a number for each of the `values` (texts), as a figure.
 *
 * `at` is the position of the value that is shown, null for none.
 */
export function valueChart({ title, axis, values, series, at, decimals }) {
  const finite = series.flatMap(({ numbers }) => numbers.filter(Number.isFinite));
  if (finite.length === 0) return make("span");
  const [least, most] = [Math.min(0, ...finite), Math.max(...finite, 0)];
  const span = most - least || 1;
  const x = (position) => LEFT + ((WIDTH - LEFT - RIGHT) * position) / Math.max(values.length - 1, 1);
  const y = (number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (number - least) / span);
  const line = ({ numbers, isInView, label }) => makeSvg(
    "path", { class: isInView ? "chart-line is-in-view" : "chart-line", d: linePath(numbers, x, y) }, makeSvg("title", {}, label),
  );
  const ordered = [...series].sort((a, b) => a.isInView - b.isInView);
  const every = Math.ceil(values.length / MOST_TICKS);
  const style = numberStyle([least, most], Math.min(decimals, 2));
  const ticks = values.map((text, position) => ({ text, position })).filter(({ position }) => position % every === 0);
  const text = (attributes, words) => makeSvg("text", { class: "chart-text", ...attributes }, words);
  const inView = ordered.at(-1);
  return make(
    "figure", { class: "value-chart" }, make("figcaption", {}, title),
    makeSvg(
      "svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}. ${values.map((value, position) => `${value}: ${decimalText(inView.numbers[position], numberStyle(inView.numbers, decimals))}`).join(", ")}` },
      makeSvg("line", { class: "chart-axis", x1: LEFT, x2: WIDTH - RIGHT, y1: y(0), y2: y(0) }),
      ...[least, most].map((number) => text({ x: LEFT - 8, y: y(number) + 4, "text-anchor": "end" }, decimalText(number, style))),
      ...ticks.map(({ text: words, position }) => text({ x: x(position), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, words)),
      text({ x: WIDTH - RIGHT, y: HEIGHT - 2, "text-anchor": "end" }, axis),
      ...(at === null ? [] : [makeSvg("line", { class: "chart-cursor", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM })]),
      ...ordered.map(line),
      ...inView.numbers.flatMap((number, position) => (Number.isFinite(number) ? [makeSvg("circle", { class: "chart-dot", cx: x(position), cy: y(number), r: position === at ? 5 : 3 })] : [])),
    ),
  );
}

/** The path through the numbers; one that is not finite interrupts it. */
function linePath(numbers, x, y) {
  let isOpen = false;
  return numbers.map((number, position) => {
    if (!Number.isFinite(number)) { isOpen = false; return ""; }
    const step = `${isOpen ? "L" : "M"}${x(position).toFixed(1)} ${y(number).toFixed(1)}`;
    isOpen = true;
    return step;
  }).join("");
}
