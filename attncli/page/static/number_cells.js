/* Cells of tables of numbers: what kind each is, and a table of numbers for reports, with its text and colours. */

import { cellStyle } from "./color_scale.js";
import { countOfNoun } from "./elements.js";
import { numberText } from "./numerals.js";

/** The class of a cell: hidden by a mask, a number, or what is none. */
export function kindOf(number, isHidden) {
  if (isHidden) return "hidden-cell";
  if (Number.isNaN(number)) return "not-a-number";
  return Number.isFinite(number) ? "number" : "infinite";
}

/** The texts that may be the widest of a table: of its least and largest finite number, and of those that are not finite. */
export function longestTexts(numbers, style) {
  let [least, most] = [Infinity, -Infinity];
  const others = new Set();
  for (const number of numbers) {
    if (!Number.isFinite(number)) others.add(number);
    else [least, most] = [Math.min(least, number), Math.max(most, number)];
  }
  const finite = least <= most ? [least, most, least / 3, most / 3] : [];
  return [...finite, ...others].map((number) => numberText(number, style));
}

/**
 * What `makeTable` draws for a table of a report: `grid` has its labels, shape, numbers, hidden cells and signs.
 *
 * `look` has the `range` of the colours, the `style` of the numbers, the `caption`, and may have functions of the
 * position in order of rows: `text` in place of that of the number, null for that, and `title`.
 */
export function numberTable(page, grid, { range, style, caption, text = () => null, title = null }) {
  const [rows, columns] = grid.shape;
  const { data } = grid;
  const isHidden = (at) => grid.hidden !== null && grid.hidden[at] === 1;
  const rules = new Map((grid.signs ?? []).map((sign) => [sign, { sign, meaning: grid.meanings[sign] ?? "hidden" }]));
  const signOf = grid.signs === null ? null : (at) => rules.get(grid.signs[at]);
  const colorOf = range === null ? null : cellStyle(page, range);
  const kind = (at) => kindOf(data[at], isHidden(at));
  const textOf = (at) => text(at) ?? (signOf !== null ? signOf(at).sign : isHidden(at) ? "" : numberText(data[at], style));
  return {
    rows, columns, data, range, signOf, kind,
    text: textOf,
    colors: (at) => (signOf === null && colorOf !== null && kind(at) === "number" ? colorOf(data[at]) : null),
    title: title ?? ((at) => (signOf !== null ? signOf(at).meaning : isHidden(at) ? "hidden by a mask" : `${data[at]}`)),
    mark: () => "",
    axes: grid.corner.split("\\"), // their letters
    longest: signOf === null ? longestTexts(data, style) : [...rules.keys()],
    rowLabels: grid.rows,
    columnLabels: grid.columns,
    corner: grid.corner,
    caption: `${caption}, ${countOfNoun(rows, "row")} and ${countOfNoun(columns, "column")}`,
  };
}
