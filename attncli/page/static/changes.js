/* Changes: what a user changes of a problem, and the plan, the options and the values that follow from it. */

import { evaluatePlan, roundedTo } from "./engine.js";
import { shownValues } from "./exercise.js";
import { pageOfHeads } from "./heads.js";
import { planWithMask, withPaintedNode } from "./mask_painting.js";
import { keptText, NUMBERS_TO_TYPE, readTyped } from "./numbers_typed.js";
import { settingsOfPage } from "./settings.js";
import { placesAmong } from "./slices.js";
import { numberAt, readValue, strides } from "./values.js";
import { pageOfWords, valuesOfPage } from "./words.js";

/** The name of the node that a result such as "weights" is, in the plan in force; undefined where it has none. */
export function resultName({ page, plan }, result) {
  return page.results[page.plans[plan].results][result];
}

/** Whether the page has a plan for settings. */
export function hasPlan(state, settings) {
  return planOf(state.get().page, settings) >= 0;
}

/**
 * Put other settings or edits in force, and compute what follows from them.
 *
 * `settings` has those that change, `typed` what they were typed as; `edits` is the new list of all edits: {step, index,
 * value, text}; `mask` is one that is painted, `words` and `heads` are others, each null for those of the program. Everything is computed from the numbers of the program, so that the same changes give the same numbers
 * in any order. Changes with the same `series`, one after the other, are one for `undo`: those of a slider that moves.
 */
export function applyChange(state, { series = null, ...changed }) {
  const before = state.get();
  const isSameSeries = series !== null && series === before.series;
  const history = isSameSeries ? before.history : [...before.history, changesOf(before)];
  const settings = { ...before.settings, ...changed.settings };
  const changes = { ...changesOf(before), ...changed, settings, typed: { ...before.typed, ...changed.typed } };
  if (changed.settings?.causal) changes.mask = null; // it takes the place of one that is painted
  setChanges(state, changes, history, series);
}

/** What a user has changed of a state. */
function changesOf({ settings, typed, edits, mask, words, heads }) {
  return { settings, typed, edits, mask, words, heads };
}

/** Take back the last change. */
export function undo(state) {
  const { history } = state.get();
  if (history.length === 0) return;
  setChanges(state, history[history.length - 1], history.slice(0, -1), null);
}

/** Take back all changes; this too can be undone. */
export function resetAll(state) {
  applyChange(state, { settings: settingsOfPage(state.get().page), edits: [], mask: null, words: null, heads: null });
}

/**
 * Set a number of an input to what a text says; a sentence that says why not, or null where it is done.
 *
 * `index` has the position on each axis of the step. The program's own number takes the edit back.
 */
export function editCell(state, step, index, text) {
  const reason = whyNotEditable(state, step);
  if (reason !== null) return reason;
  const value = readTyped(text);
  if (value === null) return `${text.trim() === "" ? "Nothing" : `“${text.trim()}”`} is not a number: write ${NUMBERS_TO_TYPE}.`;
  const { edits, program, page } = state.get();
  const isSameCell = (edit) => edit.step === step && edit.index.join() === index.join();
  const others = edits.filter((edit) => !isSameCell(edit));
  const isOriginal = numberAt(program.get(step), index) === roundedTo(page.dtype, [value])[0];
  const next = isOriginal ? others : [...others, { step, index: [...index], value, text: keptText(text) }];
  if (!isOriginal || others.length < edits.length) applyChange(state, { edits: next });
  return null;
}

/** The text of a cell of an input as it was typed; null of one that was not. */
export function typedText({ edits }, step, index) {
  return edits.find((edit) => edit.step === step && edit.index.join() === index.join())?.text ?? null;
}

/** Why the numbers of a step can't be changed here; null where they can. */
export function whyNotEditable(state, step) {
  const { page, nodes, mask } = state.get();
  const node = nodes.find(({ name }) => name === step);
  if (mask !== null && step === "visible") return "A click hides this cell, or shows it again.";
  if (page.settings.can_compute !== true) return page.settings.can_compute;
  if (node.function !== null || node.tapped_from !== null) return `${step} is computed: change the numbers that it is made from.`;
  if (node.edit_key === null) return `The numbers of ${step} can't be changed in the page.`;
  return null;
}

function setChanges(state, changes, history, series) {
  const { settings, edits, mask } = changes;
  const { isKeyShown, step, trail, ...now } = state.get();
  const isSameBase = changes.words === now.words && changes.heads === now.heads;
  const base = isSameBase ? {} : baseOf(now, changes);
  const { page, program } = { ...now, ...base };
  const plan = mask === null ? planOf(page, settings) : planWithMask(page, settings, planOf);
  const own = nodesOf(page, plan, settings);
  const shown = page.plans[plan].sections.flatMap((at) => page.sections[at].names);
  const nodes = mask === null ? own : withPaintedNode(own, shown);
  const { values: answers, fixed } = valuesOf(page, program, { plan, nodes, edits, mask });
  const cell = isSameBase ? now.cell : null;
  const values = shownValues({ page, nodes, isKeyShown }, answers);
  const isInPlan = nodes.some(({ name }) => name === step);
  const inView = isInPlan ? { step, cell } : { step: page.results[page.plans[plan].results].weights, cell: null };
  state.update({ ...base, ...changes, history, series, plan, nodes, answers, values, fixed, trail: placesAmong(nodes, trail), ...inView });
}

/** The page, the program's values and those that changes are marked against, with other words and heads. */
function baseOf({ source, own, sentence, positions }, { words, heads }) {
  const ofWords = words === null ? source : pageOfWords(source, words);
  const page = heads === null ? ofWords : pageOfHeads(ofWords, heads);
  const values = page === source ? own : { program: valuesOfPage(page, words, own.program) };
  const rest = { trail: [], pointed: null, positions: { ...positions, h: Math.min(positions.h ?? 0, (page.axes.h?.length ?? 1) - 1) } };
  if (sentence !== undefined) rest.sentence = { ...sentence, pointed: null, pinned: null };
  return { page, program: values.program, original: values.original ?? values.program, ...rest };
}

/** The number of the plan variant that settings ask for. */
function planOf(page, { causal, scale, normalizer }) {
  const isWanted = (plan) => (
    (plan.causal === null || plan.causal === causal)
    && (plan.has_scale === null || plan.has_scale === (scale !== null))
    && (plan.normalizer === null || plan.normalizer === normalizer)
  );
  return page.plans.findIndex(isWanted);
}

/** The nodes of a plan variant, whose options are the settings in force. */
function nodesOf(page, plan, settings) {
  return page.plans[plan].nodes.map((at) => {
    const node = page.nodes[at];
    const followed = Object.entries(node.settings).map(([option, name]) => [option, settings[name]]);
    return followed.length === 0 ? node : { ...node, options: { ...node.options, ...Object.fromEntries(followed) } };
  });
}

/** The values of the nodes of a plan after edits, and the names of those that can't be computed. */
function valuesOf(page, program, { plan, nodes, edits, mask }) {
  const start = new Map(program);
  if (mask !== null) start.set("visible", { axes: nodes.find(({ name }) => name === "visible").axes, ...mask, data: Float64Array.from(mask.data) });
  for (const { step, index, value } of edits) start.set(step, withNumber(start.get(step), index, roundedTo(page.dtype, [value])[0]));
  const changed = new Set(edits.map(({ step }) => step));
  const own = new Map(page.plans[0].nodes.map((at) => [page.nodes[at].name, page.nodes[at]]));
  const supplied = new Set(); // nodes that no number of the problem reaches: the program computed them
  for (const node of nodes) {
    const isOther = node.tapped_from === null && !isComputedAlike(node, own.get(node.name));
    if (isOther && node.value !== null) {
      start.set(node.name, readValue(node.axes, node.value));
      supplied.add(node.name);
    } else if (isOther || Object.values(node.inputs).some((name) => supplied.has(name))) {
      changed.add(node.name);
    }
  }
  if (plan === 0 && changed.size === 0) return { values: program, fixed: new Set() };
  const { values, fixed } = evaluatePlan(nodes, start, [...changed], page.dtype);
  const names = new Set(nodes.map(({ name }) => name));
  return { values: new Map([...values].filter(([name]) => names.has(name))), fixed };
}

/** Whether two nodes are one computation: of one function, from the same inputs, with the same options and taps. */
function isComputedAlike(node, own) {
  const definition = (one) => JSON.stringify([one.function, one.inputs, one.options, one.taps]);
  return node === own || (own !== undefined && definition(node) === definition(own));
}

function withNumber(value, index, number) {
  const data = value.data.slice();
  data[offsetOf(value, index)] = number;
  return { ...value, data };
}

function offsetOf(value, index) {
  const steps = strides(value.shape);
  return index.reduce((sum, at, axis) => sum + at * steps[axis], 0);
}
