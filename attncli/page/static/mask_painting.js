/* A mask that is painted: which keys each query sees, cell by cell, in place of the masks of the problem. */

import { strides } from "./values.js";

const RULES = ["mask", "causal"]; // those that a painted mask takes the place of
const STEP = "visible"; // that has the mask in force

/** Why no mask can be painted; null where one can. */
export function whyNoPainting(now) {
  const { page } = now;
  if (page.settings.can_compute !== true) return page.settings.can_compute;
  if (page.exercise) return "The mask of an exercise stays.";
  if (!page.problem?.takes_mask) return "No mask can be painted here: the problem's convention reads masks in its own way.";
  const visible = visibleNode(page, now.settings);
  if (visible === null) return "No mask can be painted here: the problem has none.";
  const other = Object.keys(visible.inputs).find((rule) => !RULES.includes(rule));
  return other === undefined ? null : `No mask can be painted here: ${other} hides keys too.`;
}

/** The position of the plan that a painted mask is put in: that of the settings, or the same with a causal mask. */
export function planWithMask(page, settings, planOf) {
  const hasVisible = (plan) => plan >= 0 && page.plans[plan].nodes.some((at) => page.nodes[at].name === STEP);
  return [settings.causal, true, false].map((causal) => planOf(page, { ...settings, causal })).find(hasVisible) ?? -1;
}

function visibleNode(page, settings) {
  const plans = page.plans.filter(({ normalizer }) => normalizer === null || normalizer === settings.normalizer);
  const found = plans.flatMap(({ nodes }) => nodes).find((at) => page.nodes[at].name === STEP);
  return found === undefined ? null : page.nodes[found];
}

/** The nodes of a plan in which the step of the mask is given, without those that it alone was made from and `shown` lacks. */
export function withPaintedNode(nodes, shown) {
  const before = stepsBefore(nodes);
  const read = new Set(shown);
  const kept = nodes.toReversed().filter((node) => {
    const isKept = !before.has(node.name) || [node.name, ...Object.values(node.taps)].some((name) => read.has(name));
    if (isKept && node.name !== STEP) Object.values(node.inputs).forEach((name) => read.add(name));
    return isKept;
  });
  return kept.reverse().map((node) => (node.name === STEP ? paintedNode(node) : node));
}

/** The steps that the mask is made from, by name. */
function stepsBefore(nodes) {
  const before = new Set();
  for (const node of nodes.toReversed()) {
    if (node.name === STEP || before.has(node.name)) Object.values(node.inputs).forEach((name) => before.add(name));
  }
  return before;
}

/** The step of the mask as one that is given. */
function paintedNode(node) {
  const signs = [{ input: STEP, sign: "✕", meaning: "hidden by the painted mask" }];
  const purpose = "Which keys each query sees, as it was painted: a click on a cell hides it, or shows it again.";
  const text = { formula: node.symbol, mathml: node.symbol_mathml, formulas: null, shapes: "", purpose };
  return { ...node, ...text, function: null, inputs: {}, options: {}, taps: {}, settings: {}, value: null, signs };
}

/** The mask to begin with: that in force, or one that hides nothing. */
export function firstMask(now) {
  const own = now.values.get(STEP);
  if (own !== undefined) return { shape: own.shape, data: Array.from(own.data) };
  const { shape } = visibleNode(now.page, now.settings);
  return { shape, data: Array.from({ length: shape.reduce((size, length) => size * length, 1) }, () => 1) };
}

/** The mask with a cell hidden that was visible, or the other way round. */
export function paintedMask({ shape, data }, index) {
  const steps = strides(shape);
  const place = index.reduce((sum, at, axis) => sum + (shape[axis] === 1 ? 0 : at) * steps[axis], 0);
  return { shape, data: data.map((number, at) => (at === place ? 1 - number : number)) };
}

/** A mask as text: its cells as bits, six in each letter. */
export function maskText({ data }) {
  let text = "";
  for (let at = 0; at < data.length; at += 6) {
    const bits = Array.from({ length: 6 }, (_, bit) => data[at + bit] ?? 0);
    text += LETTERS[parseInt(bits.join(""), 2)];
  }
  return text;
}

/** The mask of a text and a shape; null where the text has another length. */
export function maskOfText(text, shape) {
  const size = shape.reduce((product, length) => product * length, 1);
  const numbers = [...text].map((letter) => LETTERS.indexOf(letter));
  if (numbers.length !== Math.ceil(size / 6) || numbers.includes(-1)) return null;
  const bits = numbers.flatMap((number) => [...number.toString(2).padStart(6, "0")].map(Number));
  return { shape, data: bits.slice(0, size) };
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** The mask as nested lists of 1 and 0. */
export function nestedMask({ shape, data }) {
  const steps = strides(shape);
  const nested = (start, depth) => (depth === shape.length ? data[start] : Array.from({ length: shape[depth] }, (_, at) => nested(start + at * steps[depth], depth + 1)));
  return nested(0, 0);
}
