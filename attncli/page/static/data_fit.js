/* The data fit of a page whose keys are numbers: values over keys as points, and the context over queries as a curve. */

import { make, makeSvg } from "./elements.js";
import { leadingIndex, nodeOf, sliceOf } from "./slices.js";

const [FIT_WIDTH, FIT_HEIGHT, FIT_LEFT, FIT_BOTTOM, FIT_EDGE] = [480, 240, 56, 40, 8];
const FIT_TICKS = 5;

/** The picture of the feature that the cell in view is in, or of the first; null of other steps and pages. */
export function dataFitFigure(now, node) {
  const { curve } = now.page;
  if (!curve || curve.step !== node.name || !now.values.has(node.name)) return null;
  const column = now.cell?.[1] ?? 0;
  const points = { x: fitNumbers(now, curve.keys, 0), y: fitNumbers(now, curve.value, column) };
  const line = sortedSeries({ x: fitNumbers(now, curve.queries, 0), y: fitNumbers(now, node.name, column) });
  const all = [...points.y, ...line.y].filter(Number.isFinite);
  if (all.length === 0) return null;
  const across = fitAxis([...points.x, ...line.x], [FIT_LEFT, FIT_WIDTH - FIT_EDGE]);
  const up = fitAxis(all, [FIT_HEIGHT - FIT_BOTTOM, FIT_EDGE]);
  const path = Array.from(line.x, (x, at) => `${across.place(x)} ${up.place(line.y[at])}`).join("L");
  const drawing = makeSvg(
    "svg", { viewBox: `0 0 ${FIT_WIDTH} ${FIT_HEIGHT}`, role: "img", "aria-label": `${node.name} over ${curve.axis}s: a curve, and ${points.x.length} values as points` },
    ...across.ticks.map((number) => tickText(number, { x: across.place(number), y: FIT_HEIGHT - FIT_BOTTOM + 16, "text-anchor": "middle" })),
    ...up.ticks.map((number) => tickText(number, { x: FIT_LEFT - 6, y: up.place(number) + 4, "text-anchor": "end" })),
    makeSvg("path", { class: "fit-axes", d: `M${FIT_LEFT} ${FIT_EDGE}V${FIT_HEIGHT - FIT_BOTTOM}H${FIT_WIDTH - FIT_EDGE}` }),
    makeSvg("path", { class: "fit-curve", d: `M${path}` }),
    ...Array.from(points.x, (x, at) => makeSvg("circle", { class: "fit-point", cx: across.place(x), cy: up.place(points.y[at]), r: 3.5 })),
    makeSvg("text", { x: (FIT_LEFT + FIT_WIDTH) / 2, y: FIT_HEIGHT - 6, "text-anchor": "middle" }, `${curve.axis}s`),
  );
  return make("figure", { class: "data-fit" }, make("figcaption", {}, `● ${curve.value}   — ${node.name}`), drawing);
}

/** The numbers of a column of a step, in the slice in view; a list is those numbers themselves. */
function fitNumbers(now, source, column) {
  if (typeof source !== "string") return source;
  const value = now.values.get(source);
  const { rows, columns, data } = sliceOf(value, leadingIndex(now.page, nodeOf(now, source), now.positions));
  return Array.from({ length: rows }, (_, row) => data[row * columns + Math.min(column, columns - 1)]);
}

function sortedSeries({ x, y }) {
  const order = [...x.keys()].sort((a, b) => x[a] - x[b]);
  return { x: order.map((at) => x[at]), y: order.map((at) => y[at]) };
}

/** The place of each number between two ends of the picture, and round ticks. */
function fitAxis(numbers, [from, to]) {
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const span = most - least || 1;
  const rough = span / FIT_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const first = Math.ceil(least / step);
  const ticks = Array.from({ length: Math.floor(most / step + 1e-9) - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
  return { ticks, place: (number) => Number((from + ((number - least) / span) * (to - from)).toFixed(2)) };
}

function tickText(number, attributes) {
  return makeSvg("text", attributes, String(number).replace("-", "−"));
}
