/* The exercise: which steps it hides until the key is shown; the scripts of its folder do the rest. */

/*
 * What pages with an exercise do with it: `fieldTable`, the table of a step that is to be filled in; `fieldHelp`, what is
 * said of a field; `isSolved`, whether all numbers are right; `wrongAnswer`, what is struck through beside the key.
 */
export const exerciseFunctions = {};

/** The steps whose numbers are hidden now: those to fill in, and all that follow from them. */
export function hiddenSteps({ page, nodes, isKeyShown }) {
  const hidden = new Set(isKeyShown ? [] : page.exercise?.hidden);
  if (hidden.size === 0) return hidden;
  for (const node of nodes) {
    const isAfter = [...Object.values(node.inputs), node.tapped_from].some((name) => hidden.has(name));
    if (isAfter || Object.values(node.taps).some((name) => hidden.has(name))) hidden.add(node.name);
  }
  return hidden;
}

/** The values of a state without those that are hidden. */
export function shownValues(now, answers) {
  const hidden = hiddenSteps(now);
  return hidden.size === 0 ? answers : new Map([...answers].filter(([name]) => !hidden.has(name)));
}

/** Whether a step is to be filled in now. */
export function isToFill({ page, nodes, isKeyShown }, step) {
  return !isKeyShown && (page.exercise?.answers.includes(step) ?? false) && nodes.some(({ name }) => name === step);
}

/** What is said of steps without numbers: that a change takes them, or that they are to be found. */
export function whyNoNumbers(now, step, ofChange) {
  return hiddenSteps(now).has(step) ? "The numbers are hidden until you show the key." : ofChange;
}
