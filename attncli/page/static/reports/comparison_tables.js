/* The tables of a comparison: those of the variants that are shown, and their differences from one of them. */

import { rangeOf } from "../color_scale.js";
import { numberTable } from "../number_cells.js";
import { decimalText, numberStyle, MINUS } from "../numerals.js";
import { readValue } from "../values.js";

const [MOST_COLUMNS, FEW_DECIMALS] = [8, 2]; // of wider tables, so that they fit beside each other; below them is the number in full

/** The tables of the slice in view, one for each variant; null of one that does not have it. */
export function gridsOf(comparison, { result, slice }) {
  return comparison.results[result].tables.map((own) => {
    const grid = own[slice] ?? null;
    if (grid !== null && Array.isArray(grid.data)) grid.data = readValue([], grid).data; // once
    return grid;
  });
}

/** The number of a variant less that of another; 0 where both are the same, also infinities. */
export function signedDifference(before, after) {
  return Object.is(before, after) || before === after ? 0 : after - before;
}

/** The table of differences of two; null where one is missing, or they have other shapes. */
export function differenceGrid(before, after) {
  if (before === null || after === null || before === after || String(before.shape) !== String(after.shape)) return null;
  const data = after.data.map((number, at) => signedDifference(before.data[at], number));
  const hidden = before.hidden === null || after.hidden === null ? null : before.hidden.map((bit, at) => bit & after.hidden[at]);
  return { ...after, data, hidden, signs: null };
}

/** A difference with its sign: `+0.2472`, `−0.1`, `0`. */
export function differenceText(number, style) {
  const text = decimalText(number, style);
  return number > 0 ? `+${text}` : text;
}

/**
 * The tables that are drawn, each with the position of its `variant`: those of the variants, and behind each its
 * difference from the one that is compared with. Colours and decimals are the same in all of them.
 */
export function tablesOf(comparison, shown) {
  const grids = gridsOf(comparison, shown);
  const result = comparison.results[shown.result];
  const own = sharedLook(comparison, grids, result.are_weights);
  const differences = grids.map((grid) => differenceGrid(grids[shown.baseline], grid));
  const apart = sharedLook(comparison, differences, false);
  const positions = [...grids.keys()].filter((at) => shown.isTogether || at === shown.baseline || at === shown.variant);
  positions.sort((a, b) => (b === shown.baseline) - (a === shown.baseline) || a - b);
  return positions.flatMap((variant) => {
    const { label, title } = comparison.variants[variant];
    if (grids[variant] === null) return [];
    const table = { ...numberTable(comparison, grids[variant], { ...own, caption: `${result.name} of ${title}` }), name: title, note: statisticsText(comparison.variants[variant], result) };
    const difference = differences[variant];
    if (difference === null) return [{ variant, table }];
    const name = `${label} ${MINUS} ${comparison.variants[shown.baseline].label}`;
    const text = (at) => (difference.hidden?.[at] ? "" : differenceText(difference.data[at], apart.style));
    const made = numberTable(comparison, difference, { ...apart, text, caption: `${result.name}, ${name}` });
    return [{ variant, table }, { variant, table: { ...made, longest: longestDifferences(made.longest), name, note: "difference" } }];
  });
}

/** The texts that may be the widest of differences: a positive one has its sign. */
export function longestDifferences(longest) {
  return Array.from(longest, (text) => (text.startsWith(MINUS) ? text : `+${text}`));
}

/** The range of colours and the style of the numbers of several tables together. */
function sharedLook(comparison, grids, areWeights) {
  const data = grids.flatMap((grid) => (grid === null || grid.signs !== null ? [] : Array.from(grid.data)));
  const columns = Math.max(...grids.map((grid) => grid?.shape[1] ?? 0));
  const decimals = columns > MOST_COLUMNS ? Math.min(FEW_DECIMALS, comparison.decimals) : comparison.decimals;
  return { range: rangeOf({ name: areWeights ? "weights" : "" }, { data }), style: numberStyle(data, decimals) };
}

/** The means of a variant's statistics, under its weights. */
function statisticsText({ statistics }, { are_weights: areWeights }) {
  const known = areWeights ? [["entropy", "entropy"], ["effective_keys", "effective keys"]].filter(([name]) => statistics[name] !== null) : [];
  return known.map(([name, title]) => `${title} ${statistics[name].toFixed(2)}`).join(" · ");
}
