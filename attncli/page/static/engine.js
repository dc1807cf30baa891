/* The engine: evaluates the nodes of a plan from the numbers that were changed on. */

import { changedCells } from "./changed.js";
import { functionOf } from "./functions.js";

/**
 * The values of all nodes by name, after some were changed.
 *
 * `nodes` are those of a plan in order; `values` has the value of each before the change, `changed` the names of the
 * nodes whose numbers, options, function or inputs are new. What does not depend on them, and has a value, keeps it; so
 * does each number that is computed anew and differs by no more than rounding, from which differences would grow from
 * step to step. Numbers of `dtype` float32 are computed as those of float64 and rounded after each step. `fixed` of the result has the nodes that can't be computed here: those that are not up to date and whose
 * function the page does not have, and all that depend on them; their values are missing.
 */
export function evaluatePlan(nodes, values, changed, dtype = "float64") {
  const result = new Map(values);
  const axes = new Map(nodes.map((node) => [node.name, node.axes]));
  const stale = new Set(changed); // the nodes to compute, and those whose value is another one
  const fixed = new Set();
  const keep = (name, { shape, data }) => {
    const own = { axes: axes.get(name), shape, data: roundedTo(dtype, data) };
    const value = settledValue(values.get(name), own, dtype);
    if (value === values.get(name)) stale.delete(name);
    else stale.add(name);
    result.set(name, value);
  };
  for (const node of nodes) {
    if (node.function === null) continue; // an input, or an inner quantity
    const sources = Object.entries(node.inputs);
    const outputs = [node.name, ...Object.values(node.taps)];
    const isStale = outputs.some((name) => stale.has(name) || !result.has(name));
    if (!isStale && !sources.some(([, name]) => stale.has(name))) continue;
    const known = functionOf(node);
    if (known === undefined || sources.some(([, name]) => !result.has(name))) {
      for (const name of outputs) {
        stale.add(name);
        fixed.add(name);
        result.delete(name);
      }
      continue;
    }
    const inputs = Object.fromEntries(sources.map(([argument, name]) => [argument, result.get(name)]));
    const tap = (name, value) => {
      if (name in node.taps) keep(node.taps[name], value);
      return value;
    };
    keep(node.name, known.compute(inputs, node.options, tap));
  }
  return { values: result, fixed };
}

/** A value with the numbers of the one before where they differ by no more than rounding; that itself if all do. */
function settledValue(before, after, dtype) {
  if (before === undefined || before.shape.join() !== after.shape.join()) return after;
  const isChanged = changedCells(before, after, dtype);
  if (!isChanged.includes(1)) return before;
  return { ...after, data: after.data.map((number, at) => (isChanged[at] === 1 ? number : before.data[at])) };
}

/** Numbers as a type has them: those of float32 have four bytes. */
export function roundedTo(dtype, data) {
  return dtype === "float32" ? data.map(Math.fround) : data;
}
