/* The table of a step: its numbers, colours, marks and labels, of the slice that is in view. */

import { changeMarks, valueBefore } from "./changed.js";
import { resultName } from "./changes.js";
import { cellStyle, rangeOf } from "./color_scale.js";
import { countOfNoun } from "./elements.js";
import { kindOf, longestTexts } from "./number_cells.js";
import { numberStyle, numberText } from "./numerals.js";
import { leadingIndex, sliceLabels, sliceOf } from "./slices.js";
import { numberAt } from "./values.js";

/**
 * What `makeTable` draws for a slice of a step; null where the step has no numbers in force.
 *
 * `leading` is the index on the axes before the last two, by default that in view. `signOf` of the result gives the sign
 * and the meaning of each cell of a table of masks, and is null of any other; `range` is that of the colours.
 */
export function stepTable(state, node, leading = leadingIndex(state.page, node, state.positions)) {
  const value = state.values.get(node.name);
  if (value === undefined) return null;
  const slice = sliceOf(value, leading);
  const labels = sliceLabels(state.page, node, slice);
  const range = rangeOf(node, value);
  const signOf = node.signs ? signsOf(state, node, leading, slice) : null;
  const style = numberStyle(slice.data, state.page.decimals);
  const looks = looksOf(state, node, leading, slice, range, signOf);
  const isLeftOut = (at) => slice.data[at] === 0 && looks.kind(at) === "hidden-cell"; // what a mask hides is no number 0
  const numberOf = (at) => (isLeftOut(at) ? "" : numberText(slice.data[at], style));
  const text = signOf === null ? numberOf : (at) => signOf(at).sign;
  return {
    ...slice, leading, range, signOf, text,
    longest: signOf === null ? longestTexts(slice.data, style) : [text(0)],
    ...looks,
    rowLabels: labels.rows,
    columnLabels: labels.columns,
    corner: node.axes.slice(-2).join("\\"),
    axes: node.axes.slice(-2),
    caption: `${node.name}, ${countOfNoun(slice.rows, "row")} and ${countOfNoun(slice.columns, "column")}`,
  };
}

/** The functions that give the class, the mark, and the whole look of a cell by its position in order of rows. */
function looksOf(state, node, leading, slice, range, signOf) {
  const markOf = changeMarks(state, node.name) ?? (() => "");
  const before = valueBefore(state, node.name);
  const isHidden = signOf === null ? hiddenCells(state, node, leading, slice) : () => false;
  const style = range === null ? null : cellStyle(state.page, range);
  const kind = (at) => kindOf(slice.data[at], isHidden(at));
  const mark = (at) => (isHidden(at) ? "" : markOf(slice.start + at));
  const colors = (at) => (kind(at) === "number" ? style(slice.data[at]) : null);
  const title = (at) => {
    if (signOf !== null) return signOf(at).meaning;
    if (isHidden(at)) return `${slice.data[at]}, hidden by a mask`;
    return mark(at) === "" ? `${slice.data[at]}` : `was ${before.data[slice.start + at]}, is ${slice.data[at]}`;
  };
  return { kind, mark, colors, title };
}

/** Whether a cell of a slice is one that a mask hides: the normalizer reads −∞ there. */
function hiddenCells(state, node, leading, { rows, columns }) {
  const scores = resultName(state, "masked_scores");
  const masked = state.values.get(scores);
  const axes = state.nodes.find(({ name }) => name === scores)?.axes;
  const isAfter = node.name === scores || (node.stage === "normalize" && String(node.axes) === String(axes));
  if (masked === undefined || !isAfter) return () => false;
  const slice = sliceOf(masked, leading);
  if (slice.rows === rows && slice.columns === columns) return (at) => slice.data[at] === -Infinity;
  return (at) => numberAt(masked, [...leading, Math.floor(at / columns), at % columns]) === -Infinity;
}

/** The sign of each cell of a table of masks: of the first rule that hides it, or that of a visible one. */
function signsOf({ page, values }, node, leading, { columns }) {
  const rules = node.signs.map((rule) => ({ ...rule, value: values.get(rule.input) }));
  const visible = { sign: page.visible_sign, meaning: "visible" };
  return (at) => {
    const index = [...leading, Math.floor(at / columns), at % columns];
    return rules.find(({ value }) => value !== undefined && numberAt(value, index.slice(-value.shape.length)) === 0) ?? visible;
  };
}
