/* Contexts: from weights and values to the context. */

import { concatenated, makeArray, mapMatrices, mapNumbers, mapPairs, mapRows, matrixProduct } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { maximumOf, numberTerm, productOf, productsOf, sumOf, tanhOf } from "../terms.js";

/** `weights @ value`, where a weight of 0 contributes 0 also where the value is NaN or infinite. */
function weightedValues(weights, value) {
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
 * The value at each query's key; zeros for a query that sees no key, NaN for one with a weight of NaN.
 *
 * `choose(row, ...numbers)` returns the key of a row of weights, from it and from the numbers of `others` [… n].
 */
function valuesAt(weights, value, choose, ...others) {
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
function largestKey(row) {
  let best = 0;
  row.forEach((weight, key) => {
    if (weight !== 0 && (row[best] === 0 || weight > row[best])) best = key;
  });
  return best;
}

/** The sum of the weights times the values, without values that are not finite where the weight is 0. */
function weightedValuesTerm(cell) {
  const [weights, values] = [cell.terms("weights"), cell.terms("value")];
  const takesPart = (weight, at) => weight.value(null) !== 0 || Number.isFinite(values[at].value(null));
  return productsOf(weights.filter(takesPart), values.filter((_, at) => takesPart(weights[at], at)));
}

/** The name of a number of the context: `C(cat)[e1]`. */
function contextName(cell) {
  return `${cell.symbol()}(${cell.label("n")})[${cell.label(cell.node.axes.at(-1))}]`;
}

/** The line of a query that sees no key; null where one weight differs from 0. */
function nothingAttendedLine(cell) {
  const isEmpty = cell.terms("weights").every((weight) => weight.value(null) === 0);
  return isEmpty ? [["no weight differs from 0: the context is 0"]] : null;
}

/** The line `C(cat)[e1] = V(sat)[e1] = 1`, of the value of one key. */
function chosenValueParts(cell, key) {
  return cell.sentence(`${contextName(cell)} is that of ${cell.keyLabel(key)}: `, cell.terms("value")[key]);
}

/* The sum of the values, each times its weight. */
defineFunction("weighted_sum", {
  compute: ({ weights, value }) => weightedValues(weights, value),
  work: (cell) => [cell.equation(weightedValuesTerm(cell), contextName(cell))],
});

/* The value of the key with the largest weight; of equal ones the first. */
defineFunction("argmax", {
  compute: ({ weights, value }) => valuesAt(weights, value, largestKey),
  work(cell) {
    const weights = cell.terms("weights");
    const key = largestKey(weights.map((weight) => weight.value(null)));
    const largest = cell.sentence(weights[key], " is the largest weight: ");
    return nothingAttendedLine(cell) ?? [[...largest, ...chosenValueParts(cell, key)]];
  },
});

/** Whether a key counts: a mask does not hide it, or it has a weight, as that which fills a row without keys. */
function isCounted(weight, isVisible) {
  return Number(isVisible !== 0 || weight !== 0);
}

/* For each feature the largest weighted value, instead of the sum of them; masks alone leave keys out. */
defineFunction("max", {
  compute({ weights, value, visible }) {
    const [keys, features] = value.shape.slice(-2);
    const counts = mapPairs(weights, visible ?? makeArray([], [1]), isCounted);
    const both = concatenated(weights, counts, -1);
    return mapMatrices(both, value, [weights.shape.at(-2), features], (rows, vectors, query, feature) => {
      let largest = -Infinity;
      let seesKey = false;
      for (let key = 0; key < keys; key++) {
        const [weight, counted] = [rows[query * 2 * keys + key], rows[(query * 2 + 1) * keys + key]];
        if (counted === 0) continue;
        seesKey = true;
        largest = Math.max(largest, weight === 0 ? 0 : weight * vectors[key * features + feature]);
      }
      return seesKey ? largest : 0;
    });
  },
  work(cell) {
    const [weights, values] = [cell.terms("weights"), cell.terms("value")];
    const visible = cell.has("visible") ? cell.terms("visible").map((term) => term.value(null)) : [];
    const weighted = weights.flatMap((weight, at) => {
      if (!isCounted(weight.value(null), visible[at])) return [];
      const isFinite = Number.isFinite(values[at].value(null));
      return [productOf(weight, isFinite || weight.value(null) !== 0 ? values[at] : numberTerm(0))];
    });
    return nothingAttendedLine(cell) ?? [cell.equation(maximumOf(...weighted), contextName(cell))];
  },
});

/* The value of one key, drawn with the weights as probabilities. */
defineFunction("sample", {
  compute: ({ weights, value, draws }) => valuesAt(weights, value, drawnKey, draws),
  work(cell) {
    const [weights, draw] = [cell.terms("weights"), cell.term("draws")];
    const key = drawnKey(weights.map((weight) => weight.value(null)), draw.value(null));
    const upTo = (count) => cell.computed("", sumOf(weights.slice(0, count))).line;
    const label = cell.keyLabel(key);
    const before = key === 0 ? [] : [[`the weights before ${label}: `, ...upTo(key)]];
    const reached = () => [...cell.sentence("ω = ", draw, " is reached there: "), ...chosenValueParts(cell, key)];
    return nothingAttendedLine(cell) ?? [...before, [`the weights up to ${label}: `, ...upTo(key + 1)], reached()];
  },
});

/** The key at which the weights, added one after the other, reach a share of their sum. */
function drawnKey(row, draw) {
  let sum = 0;
  const totals = row.map((weight) => (sum += weight));
  const reached = draw * totals.at(-1);
  return Math.min(totals.filter((total) => total <= reached).length, row.length - 1);
}

/* The weighted sum and the query together, through one more layer. */
defineFunction("attentional", {
  compute({ weights, value, query, w }, options, tap) {
    const context = tap("context_vector", weightedValues(weights, value));
    return mapNumbers(matrixProduct(concatenated(context, query, -1), w), Math.tanh);
  },
  reads: ["context_vector", "query", "w"],
  work(cell) {
    const features = [...cell.terms("context_vector"), ...cell.terms("query")];
    const name = `[U(${cell.label("n")}); ${cell.symbol("query")}(${cell.label("n")})]·W_C`;
    const product = cell.computed(name, productsOf(features, cell.terms("w")));
    return [product.line, cell.equation(tanhOf(product), contextName(cell))];
  },
  inner: {
    context_vector: {
      reads: ["weights", "value"],
      work: (cell) => [cell.equation(weightedValuesTerm(cell), contextName(cell))],
    },
  },
});
