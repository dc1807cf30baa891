/* The order of the steps: the sections of the plan in force, inputs first. */

/** The sections of the plan in force. */
export function sectionsOf({ page, plan }) {
  return page.plans[plan].sections.map((at) => page.sections[at]);
}

/** The section that a step stands in; null of a step that has none. */
export function sectionOf(state, step) {
  return sectionsOf(state).find(({ names }) => names.includes(step)) ?? null;
}

/** The names of the steps that have a section, in order: of equal ones the first. */
export function stepsInOrder(state) {
  return sectionsOf(state).map(({ names }) => names[0]);
}

/** Whether the page has the steps, not the results of a large problem alone. */
export function hasSteps(state) {
  return sectionsOf(state).some(({ number }) => number !== null);
}

/** What the sections without a number are: inputs, or results, where the page has nothing else. */
export function titleOfUnnumbered(state) {
  return hasSteps(state) ? "Given" : "Results";
}
