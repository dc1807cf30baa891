/* Sparse selection: the scores of an indexer, and the keys that a query keeps by them. */

import {
  broadcastShape, broadcastTo, dotProducts, exchangedAxes, makeArray, mapNumbers, mapPairs, sumsOver, withAxis,
  withoutAxes,
} from "../arrays.js";
import { defineFunction } from "../functions.js";
import { maximumOf, numberTerm, productOf, productsOf, quotientOf, rootOf, sumOf } from "../terms.js";
import { verdict } from "./masks.js";

/* The scores of an indexer: each head's products, where they are positive, times the weight of the head. */
defineFunction("index_scores", {
  compute({ query, key, weights }, { has_head_axis: hasHeadAxis }) {
    const matches = mapNumbers(dotProducts(query, key), (x) => Math.max(x, 0));
    const ofHeads = withAxis(exchangedAxes(weights, -1, -2), -1);
    const size = Math.sqrt(query.shape.at(-3) * query.shape.at(-1));
    const summed = withoutAxes(sumsOver(mapPairs(ofHeads, matches, (weight, x) => weight * x), -3), -3);
    const scores = mapNumbers(summed, (x) => x / size);
    return hasHeadAxis ? withAxis(scores, -3) : scores;
  },
  whole: ["ι", "η"],
  work(cell) {
    const [queries, keys, weights] = ["query", "key", "weights"].map((role) => cell.terms(role));
    const [heads, features] = [weights.length, keys.length];
    const matches = weights.map((_, head) => {
      const own = queries.slice(head * features, (head + 1) * features);
      return cell.computed(`match of head ${head + 1}`, maximumOf(numberTerm(0), productsOf(own, keys)));
    });
    const summed = sumOf(weights.map((weight, head) => productOf(weight, matches[head])));
    const size = rootOf(productOf(numberTerm(heads), numberTerm(features)));
    const name = `I(${cell.label("n")}, ${cell.label("m")})`;
    return [...matches.map((match) => match.line), cell.equation(quotientOf(summed, size), name)];
  },
});

/* A query sees the keys with the highest scores, of those that no other rule hides. */
defineFunction("top", {
  compute({ index_scores: scores, candidates }, { keys }) {
    const shape = candidates === undefined ? scores.shape : broadcastShape(scores.shape, candidates.shape);
    const all = broadcastTo(scores, shape);
    const seen = candidates === undefined ? undefined : broadcastTo(candidates, shape);
    const result = makeArray(shape);
    const width = shape.at(-1);
    for (let start = 0; start < result.data.length; start += width) {
      const row = all.data.subarray(start, start + width);
      for (const key of keysByScore(row, seen?.data.subarray(start, start + width)).slice(0, keys)) {
        result.data[start + key] = 1;
      }
    }
    return result;
  },
  whole: ["m"],
  work(cell) {
    const scores = cell.terms("index_scores");
    const seen = cell.has("candidates") ? cell.terms("candidates").map((term) => term.value(null)) : undefined;
    const [query, key] = [cell.label("n"), cell.label("m")];
    if (seen?.[cell.column] === 0) return [cell.sentence(`another rule hides ${key} from ${query}: ${verdict(cell)}`)];
    const order = keysByScore(scores.map((term) => term.value(null)), seen);
    const many = `${order.length} key${order.length === 1 ? "" : "s"}`;
    const place = `, number ${order.indexOf(cell.column) + 1} of ${many} that no other rule hides; `;
    const kept = `${cell.options.keys} are kept: ${verdict(cell)}`;
    return [cell.sentence(`I(${query}, ${key}) is `, scores[cell.column], place, kept)];
  },
});

/** The keys of a row that may be chosen, the highest score first; of equal ones the first. */
function keysByScore(row, seen) {
  const keys = Array.from(row, (_, key) => key).filter((key) => seen === undefined || seen[key] !== 0);
  return keys.sort((one, other) => row[other] - row[one] || one - other);
}
