/* A chart of the numbers of a row over the values of what is varied, the number in view in front. */

import { make, makeSvg } from "../elements.js";
import { decimalText, numberStyle } from "../numerals.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [48, 16, 10, 38];
const [LETTER, LINE] = [7.5, 14]; // the width of a letter and the height of a line, in pixels
const LEAST_GAP = 24; // pixels between neighbours on an axis on which values stand at their numbers
const MOST_LETTERS = 16; // of the name of a line

/**
 * A chart of `series`, each `{label, numbers, isInView}` with a number for each of the `values`, as a figure.
 *
 * The values are `{text, number}`, from the least to the largest; `at` is the position of the one that is shown, null
 * for none. The chart is as wide as its figure.
 */
export function valueChart(chart) {
  const { title, values, series, decimals } = chart;
  const finite = series.flatMap(({ numbers }) => numbers.filter(Number.isFinite));
  if (finite.length === 0) return make("span");
  const range = [Math.min(0, ...finite), Math.max(...finite, 0)];
  const { numbers } = series.find(({ isInView }) => isInView);
  const style = numberStyle(numbers, decimals);
  const svg = makeSvg("svg", { role: "img", "aria-label": `${title}. ${values.map(({ text }, position) => `${text}: ${decimalText(numbers[position], style)}`).join(", ")}` });
  new ResizeObserver(() => {
    const [width, height] = [svg.clientWidth, svg.clientHeight];
    if (width === 0) return;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.replaceChildren(...chartParts(chart, range, width, height));
  }).observe(svg);
  return make("figure", { class: "value-chart" }, make("figcaption", {}, title), svg);
}

/** The lines, their names at their ends, the axes and the dots of the line in view. */
function chartParts({ axis, values, series, at, decimals }, [least, most], width, height) {
  const names = series.map(({ label }) => (label.length > MOST_LETTERS ? `${label.slice(0, MOST_LETTERS - 1)}…` : label));
  const right = width - RIGHT - LETTER * Math.max(...names.map((name) => name.length));
  const { places, remark } = axisPlaces(values.map(({ number }) => number), right - LEFT);
  const x = (position) => LEFT + (right - LEFT) * places[position];
  const y = (number) => TOP + (height - TOP - BOTTOM) * (1 - (number - least) / (most - least || 1));
  const classOf = (name, isInView) => (isInView ? `${name} is-in-view` : name);
  const text = (attributes, words) => makeSvg("text", { class: "chart-text", ...attributes }, words);
  const inView = series.find(({ isInView }) => isInView);
  const ends = series.map(({ numbers, isInView }, row) => ({ name: names[row], isInView, y: y(numbers.at(-1)) })).filter((end) => Number.isFinite(end.y));
  const style = numberStyle([least, most], Math.min(decimals, 2));
  return [
    makeSvg("line", { class: "chart-axis", x1: LEFT, x2: right, y1: y(0), y2: y(0) }),
    ...[least, most].map((number) => text({ x: LEFT - 8, y: y(number) + 4, "text-anchor": "end" }, decimalText(number, style))),
    ...legible(values.map(({ text: words }, position) => ({ words, x: x(position) }))).map((tick) => text({ x: tick.x, y: height - BOTTOM + 16, "text-anchor": "middle" }, tick.words)),
    text({ x: right, y: height - 5, "text-anchor": "end" }, `${axis}${remark}`),
    ...(at === null ? [] : [makeSvg("line", { class: "chart-cursor", x1: x(at), x2: x(at), y1: TOP, y2: height - BOTTOM })]),
    ...[...series].sort((a, b) => a.isInView - b.isInView).map(({ numbers, isInView }) => makeSvg("path", { class: classOf("chart-line", isInView), d: linePath(numbers, x, y) })),
    ...inView.numbers.flatMap((number, position) => (Number.isFinite(number) ? [makeSvg("circle", { class: "chart-dot", cx: x(position), cy: y(number), r: position === at ? 5 : 3 })] : [])),
    ...apart(ends, height).map((end) => text({ class: classOf("chart-text", end.isInView), x: right + 10, y: end.y + 4 }, end.name)),
  ];
}

/** Where values stand on an axis, from 0 to 1: at their numbers or logarithms where these are apart, otherwise in order. */
function axisPlaces(numbers, length) {
  const scaled = (scale) => numbers.map((number) => (scale(number) - scale(numbers[0])) / (scale(numbers.at(-1)) - scale(numbers[0])));
  const gapOf = (places) => Math.min(...places.slice(1).map((place, at) => place - places[at])) * length;
  const [linear, logarithmic] = [scaled(Number), scaled(Math.log)];
  if (numbers[0] > 0 && gapOf(logarithmic) >= LEAST_GAP && gapOf(logarithmic) > gapOf(linear)) return { places: logarithmic, remark: ", logarithmic" };
  if (gapOf(linear) >= LEAST_GAP) return { places: linear, remark: "" };
  return { places: numbers.map((_, at) => at / Math.max(numbers.length - 1, 1)), remark: ", in order and not to scale" };
}

/** The ticks that have room beside each other. */
function legible(ticks) {
  let end = -Infinity;
  return ticks.filter((tick) => {
    const half = (LETTER * tick.words.length) / 2;
    if (tick.x - half < end) return false;
    end = tick.x + half + LETTER;
    return true;
  });
}

/** The names of lines one below another: of many that in view, and those of the largest numbers. */
function apart(ends, height) {
  const room = Math.floor((height - BOTTOM) / LINE);
  const chosen = [...ends].sort((a, b) => b.isInView - a.isInView || a.y - b.y).slice(0, room).sort((a, b) => a.y - b.y);
  let above = -Infinity;
  const down = chosen.map((end) => ({ ...end, y: (above = Math.max(end.y, above + LINE)) }));
  let below = height - BOTTOM + LINE;
  return down.reverse().map((end) => ({ ...end, y: (below = Math.min(end.y, below - LINE)) }));
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
