/* The state of the page: what is shown, what was changed, and the values that follow; listeners are told of changes. */

import { evaluatePlan, roundedTo } from "./engine.js";
import { shownValues } from "./exercise.js";
import { settingsOfPage } from "./settings.js";
import { readValue } from "./values.js";

const REST = 120; // milliseconds after a slider moved in which what is beside the step stays as it was

/** The state of a page from its object, which may have the inputs alone: what is missing is computed. */
export function makeState(page) {
  const nodes = page.plans[0].nodes.map((at) => page.nodes[at]); // of the program's plan
  const axes = Object.fromEntries(nodes.map((node) => [node.name, node.axes]));
  const read = (entries) => new Map(Object.entries(entries).map(([name, value]) => [name, roundedValue(page, readValue(axes[name], value))]));
  const given = read(page.values);
  const isWhole = page.settings.can_compute !== true || nodes.every(({ name }) => given.has(name));
  const values = isWhole ? given : evaluatePlan(nodes, given, [], page.dtype).values;
  const state = {
    page,
    isKeyShown: false, // of an exercise
    fills: {}, // what was filled in an exercise, by step and index: `weights@0,1`
    typing: null, // the field of an exercise that is being typed in, named like these
    judged: null, // the one that was left last: {step, index}
    hinted: null, // the one whose hint is shown, named like those that are filled in
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
    heads: null, // another number of heads than the program's
    source: page, // the page with the program's words and heads
    own: { program: values, original: new Map([...values, ...read(page.before)]) }, // the values of these
    history: [], // the changes before: {settings, typed, edits, mask, words, heads}
    series: null, // the name of the series that the last change belongs to: those of a slider that moves
    fixed: new Set(), // the names of steps that follow from a change and can't be computed here
    positions: { ...page.start.positions }, // the batch item and the head in view, and the position on any other leading axis
    step: page.start.step, // the step in view
    cell: page.start.cell, // [row, column] in it that is kept in view
    pointed: null, // [row, column] in it that the pointer is on
    trail: [], // the cells that led to this one: {step, cell, positions}
    stop: page.guide ? 0 : null, // the stop of the story in view, counted from 1; 0 for the whole, null for the page without it
  };
  const listeners = [];
  return {
    get: () => state,
    /** Change some of the state, and tell the listeners which names of it changed. */
    update(changes) {
      const names = Object.keys(changes).filter((name) => !Object.is(changes[name], state[name]));
      Object.assign(state, changes);
      for (const listener of listeners) listener(names);
    },
    /** Call a function after each change, with the names of what changed. */
    listen: (listener) => listeners.push(listener),
    /** The same, but while a slider moves only when the browser has nothing else to do. */
    listenAtRest(listener) {
      const missed = new Set();
      let isWaiting = false;
      const tell = () => {
        const names = [...missed];
        missed.clear();
        isWaiting = false;
        if (names.length > 0) listener(names);
      };
      listeners.push((names) => {
        names.forEach((name) => missed.add(name));
        if (state.series === null) tell();
        else if (!isWaiting) setTimeout(() => requestIdleCallback(tell), REST);
        isWaiting = state.series !== null;
      });
    },
  };
}

/** A value whose numbers, which are written with few digits, are of the type of the page. */
function roundedValue({ dtype }, value) {
  return { ...value, data: roundedTo(dtype, value.data) };
}
