/* The engine: evaluates the nodes of a plan from the numbers that were changed on. */

import { FUNCTIONS } from "./functions.js";

/**
 * The values of all nodes by name, after some were changed.
 *
 * `nodes` are those of a plan in order; `values` has the value of each before the change, `changed` the names of the
 * nodes whose numbers or options are new. What does not depend on them keeps its value. `fixed` of the result has the
 * nodes that depend on a change and whose function the page does not have, and all that depend on them; their values
 * are missing.
 */
export function evaluatePlan(nodes, values, changed) {
  const result = new Map(values);
  const dirty = new Set(changed);
  const fixed = new Set();
  for (const node of nodes) {
    if (node.tapped_from !== null || node.function === null) continue;
    const sources = Object.values(node.inputs);
    if (!dirty.has(node.name) && !sources.some((name) => dirty.has(name))) continue;
    dirty.add(node.name);
    const names = [node.name, ...Object.values(node.taps)];
    if (sources.some((name) => fixed.has(name)) || !(node.function in FUNCTIONS)) {
      for (const name of names) { fixed.add(name); dirty.add(name); result.delete(name); }
      continue;
    }
    const inputs = Object.fromEntries(Object.entries(node.inputs).map(([name, source]) => [name, result.get(source)]));
    const tap = (name, value) => { if (name in node.taps) { result.set(node.taps[name], value); dirty.add(node.taps[name]); } };
    result.set(node.name, FUNCTIONS[node.function](inputs, node.options, tap));
  }
  return { values: result, fixed };
}
