/* The legend of a table: the range of its colours, and what its signs and marks mean. */

import { MEANINGS } from "./changed.js";
import { colorsOf, cssColor, lightDark } from "./color_scale.js";
import { make } from "./elements.js";
import { decimalText, numberStyle } from "./numerals.js";

const KINDS = [["hidden-cell", "hidden by a mask"], ["infinite", "infinite"], ["not-a-number", "not a number"]];

/** The legend of a table of a step, of what is in it. */
export function legendOf(page, table) {
  const kinds = new Set(Array.from(table.data, (_, at) => table.kind(at)));
  const marks = new Set(Array.from(table.data, (_, at) => table.mark(at)));
  return make(
    "div", { class: "legend" },
    ...table.axes.filter((letter) => page.axes[letter]?.meaning).map((letter) => entry(make("i", {}, letter), page.axes[letter].meaning)),
    ...(table.signOf === null ? rangeEntries(page, table.range) : signEntries(table)),
    ...KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, meaning]) => entry(make("span", { class: `swatch ${kind}` }), meaning)),
    ...MEANINGS.filter(([mark]) => marks.has(mark)).map(([mark, meaning]) => entry(mark, meaning)),
  );
}

/** The bar of colours between the least and the largest number. */
function rangeEntries(page, range) {
  if (range === null) return [];
  const [light, dark] = [false, true].map((isDark) => colorsOf(page, range, isDark).map(cssColor));
  const bar = make("span", { class: "color-bar", role: "img", "aria-label": "to" });
  bar.style.background = `linear-gradient(to right, ${light.map((color, at) => lightDark(color, dark[at])).join(", ")})`;
  const style = numberStyle([range.least, range.most], page.decimals);
  return [make("span", { class: "legend-entry" }, decimalText(range.least, style), bar, decimalText(range.most, style))];
}

function signEntries({ data, signOf }) {
  const counts = new Map();
  for (let at = 0; at < data.length; at++) {
    const rule = signOf(at);
    counts.set(rule, (counts.get(rule) ?? 0) + 1);
  }
  return [...counts].map(([{ sign, meaning }, count]) => entry(sign, `${meaning}: ${count}`));
}

function entry(sign, meaning) {
  return make("span", { class: "legend-entry" }, make("span", {}, sign), ` ${meaning}`);
}
