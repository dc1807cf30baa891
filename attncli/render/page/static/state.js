/* The state of the page: what is shown, what was changed, and the values that follow; listeners are told of changes. */

import { evaluatePlan } from "./engine.js";
import { shownValues } from "./exercise.js";
import { settingsOfPage } from "./settings.js";
import { readValue } from "./values.js";

/** The state of a page from its object, which may have the inputs alone: what is missing is computed. */
export function makeState(page) {
  const nodes = page.plans[0].nodes.map((at) => page.nodes[at]); // of the program's plan
  const axes = Object.fromEntries(nodes.map((node) => [node.name, node.axes]));
  const read = (entries) => new Map(Object.entries(entries).map(([name, value]) => [name, readValue(axes[name], value)]));
  const given = read(page.values);
  const isWhole = page.settings.can_compute !== true || nodes.every(({ name }) => given.has(name));
  const values = isWhole ? given : evaluatePlan(nodes, given, []).values;
  const state = {
    page,
    isKeyShown: false, // of an exercise
    fills: {}, // what was filled in an exercise, by step and index: `weights@0,1`
    answers: values, // those in force, with those that an exercise hides
    program: values, // the values that the program computed
    original: new Map([...values, ...read(page.before)]), // those that changes are marked against
    plan: 0, // the position of the plan in force
    nodes, // of the plan in force, in order
    values: shownValues({ page, nodes, isKeyShown: false }, values), // those in force that are shown
    settings: settingsOfPage(page), // those in force
    typed: {}, // what settings that are numbers were typed as, by name
    edits: [], // the numbers that were changed: {step, index, value, text}, the text as it was typed
    mask: null, // one that is painted, {shape, data}, in place of the problem's
    words: null, // others than the program's: {token, row}, the row of its embeddings that each begins with
    source: page, // the page with the program's words
    own: { program: values, original: new Map([...values, ...read(page.before)]) }, // the values of these
    history: [], // the changes before: {settings, typed, edits, mask, words}
    series: null, // the name of the series that the last change belongs to: those of a slider that moves
    fixed: new Set(), // the names of steps that follow from a change and can't be computed here
    positions: { ...page.start.positions }, // the batch item and the head in view, and the position on any other leading axis
    step: page.start.step, // the step in view
    cell: page.start.cell, // [row, column] in it that is kept in view
    pointed: null, // [row, column] in it that the pointer is on
    trail: [], // the cells that led to this one: {step, cell, positions}
  };
  const listeners = [];
  return {
    get: () => state,
    /** Change some of the state, and tell the listeners which names of it changed. */
    update(changes) {
      Object.assign(state, changes);
      for (const listener of listeners) listener(Object.keys(changes));
    },
    /** Call a function after each change, with the names of what changed. */
    listen: (listener) => listeners.push(listener),
  };
}
