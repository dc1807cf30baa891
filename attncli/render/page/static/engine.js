/* The engine: evaluates the nodes of a plan from the numbers that were changed on. */

import { functionOf } from "./functions.js";

/**
 * The values of all nodes by name, after some were changed.
 *
 * `nodes` are those of a plan in order; `values` has the value of each before the change, `changed` the names of the
 * nodes whose numbers, options, function or inputs are new. What does not depend on them, and has a value, keeps it.
 * `fixed` of the result has the nodes that can't be computed here: those that are not up to date and whose function the
 * page does not have, and all that depend on them; their values are missing.
 */
export function evaluatePlan(nodes, values, changed) {
  const result = new Map(values);
  const axes = new Map(nodes.map((node) => [node.name, node.axes]));
  const dirty = new Set(changed);
  const fixed = new Set();
  const keep = (name, { shape, data }) => result.set(name, { axes: axes.get(name), shape, data });
  for (const node of nodes) {
    if (node.function === null) continue; // an input, or an inner quantity
    const sources = Object.entries(node.inputs);
    const outputs = [node.name, ...Object.values(node.taps)];
    const isStale = outputs.some((name) => dirty.has(name) || !result.has(name));
    if (!isStale && !sources.some(([, name]) => dirty.has(name))) continue;
    for (const name of outputs) dirty.add(name);
    const known = functionOf(node);
    if (known === undefined || sources.some(([, name]) => !result.has(name))) {
      for (const name of outputs) {
        fixed.add(name);
        result.delete(name);
      }
      continue;
    }
    const inputs = Object.fromEntries(sources.map(([argument, name]) => [argument, result.get(name)]));
    const tap = (name, value) => {
      keep(node.taps[name], value);
      return value;
    };
    keep(node.name, known.compute(inputs, node.options, tap));
  }
  return { values: result, fixed };
}
