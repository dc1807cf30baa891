/* Parts of contexts: the sum of weighted values, the value of one key, and the lines that they share. */

import { mapMatrices, mapRows } from "./arrays.js";
import { productsOf } from "./terms.js";

/** `weights @ value`, where a weight of 0 contributes 0 also where the value is NaN or infinite. */
export function weightedValues(weights, value) {
  const keys = weights.shape.at(-1);
  const features = value.shape.at(-1);
  return mapMatrices(weights, value, [weights.shape.at(-2), features], (rows, vectors, query, feature) => {
    let sum = 0;
    for (let key = 0; key < keys; key++) {
      const [weight, number] = [rows[query * keys + key], vectors[key * features + feature]];
      if (weight !== 0 || Number.isFinite(number)) sum += weight * number;
    }
    return sum;
  });
}

/**
 * The value at each query's key; zeros for a query that attends to nothing, NaN for one with a weight of NaN.
 *
 * `choose(row, ...numbers)` returns the key of a row of weights, from it and from the numbers of `others` [… n].
 */
export function valuesAt(weights, value, choose, ...others) {
  const features = value.shape.at(-1);
  const keyOf = (row, ...numbers) => {
    if (row.some((weight) => Number.isNaN(weight))) return [NaN];
    return [row.some((weight) => weight !== 0) ? choose(row, ...numbers) : -1];
  };
  const keys = mapRows(weights, 1, keyOf, ...others);
  return mapMatrices(keys, value, [keys.shape.at(-2), features], (chosen, vectors, query, feature) => {
    const key = chosen[query];
    return Number.isNaN(key) ? NaN : key < 0 ? 0 : vectors[key * features + feature];
  });
}

/** The key of the largest weight that is not 0; of equal ones the first. */
export function largestKey(row) {
  let best = 0;
  row.forEach((weight, key) => {
    if (weight !== 0 && (row[best] === 0 || weight > row[best])) best = key;
  });
  return best;
}

/** The sum of the weights times the values, without values that are not finite where the weight is 0. */
export function weightedValuesTerm(cell) {
  const [weights, values] = [cell.terms("weights"), cell.terms("value")];
  const takesPart = (weight, at) => weight.value(null) !== 0 || Number.isFinite(values[at].value(null));
  return productsOf(weights.filter(takesPart), values.filter((_, at) => takesPart(weights[at], at)));
}

/** The name of a number of the context: `C(cat)[e1]`. */
export function contextName(cell) {
  return `${cell.symbol()}(${cell.label("n")})[${cell.label(cell.node.axes.at(-1))}]`;
}

/** The line of a query that attends to nothing; null where one weight differs from 0. */
export function nothingAttendedLine(cell) {
  const isEmpty = cell.terms("weights").every((weight) => weight.value(null) === 0);
  return isEmpty ? [["no weight differs from 0: the context is 0"]] : null;
}

/** The line `C(cat)[e1] = V(sat)[e1] = 1`, of the value of one key. */
export function chosenValueParts(cell, key) {
  return cell.sentence(`${contextName(cell)} is that of ${cell.keyLabel(key)}: `, cell.terms("value")[key]);
}
