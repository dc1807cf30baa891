/* Entmax: between softmax (α = 1) and sparsemax (α = 2). */

import { defineFunction } from "../functions.js";
import {
  clippedScores,
  descending,
  finiteMax,
  lineWithoutNumbers,
  normalizedRows,
  plainSoftmax,
  safeQuotient,
  softmaxLines,
  sparsemaxLines,
  sparsemaxRows,
  sumOfNumbers,
} from "../normalizing.js";
import { differenceOf, maximumOf, numberTerm, powerOf, productOf, quotientOf, rootOf, sumOf } from "../terms.js";

defineFunction("entmax", {
  compute({ scores }, { alpha = 1.5 }) {
    if (alpha === 1) return plainSoftmax(scores);
    if (alpha === 2) return sparsemaxRows(scores);
    return normalizedRows(scores, (row) => {
      const x = clippedScores(row, alpha - 1);
      const weights = alpha === 1.5 ? inClosedForm(x) : byBisection(x, alpha);
      return weights.map((weight, at) => (row[at] === -Infinity ? 0 : weight));
    });
  },
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    return lineWithoutNumbers(scores) ?? entmaxLines(cell, scores, cell.options.alpha ?? 1.5);
  },
});

/** `[x − τ]₊²` that adds to 1: for each size of the support τ is the root of a quadratic. */
function inClosedForm(x) {
  let [sum, squares, size] = [0, 0, 0];
  const ordered = descending(x);
  const thresholds = ordered.map((own, at) => {
    const rank = at + 1;
    sum += own;
    squares += own * own;
    const mean = sum / rank;
    const threshold = mean - Math.sqrt(Math.max((1 - (squares - rank * mean * mean)) / rank, 0));
    if (threshold <= own) size += 1;
    return threshold;
  });
  const threshold = thresholds.at(size - 1);
  return x.map((own) => Math.max(own - threshold, 0) ** 2);
}

/** `[x − τ]₊^(1/(α−1))` that adds to 1, by halving the interval of 1 + τ until it has no middle. */
function byBisection(x, alpha) {
  const powers = (u) => x.map((own) => Math.exp(Math.log1p(Math.max(own - u, -1)) / (alpha - 1)));
  let [low, high] = [0, -Math.expm1((1 - alpha) * Math.log(x.length))];
  for (let middle = (low + high) / 2; low < middle && middle < high; middle = (low + high) / 2) {
    if (sumOfNumbers(powers(middle)) >= 1) low = middle;
    else high = middle;
  }
  const weights = powers(low);
  return safeQuotient(weights, sumOfNumbers(weights));
}

/** The threshold τ of the row, then one weight; for α = 1 as softmax, for α = 2 as sparsemax. */
function entmaxLines(cell, scores, alpha) {
  if (alpha === 1) {
    const largest = finiteMax(scores.map((score) => score.value(null)));
    return softmaxLines(cell, scores, scores.map((score) => numberTerm(Math.exp(score.value(null) - largest))));
  }
  if (alpha === 2) return sparsemaxLines(cell, scores);
  const weights = cell.row().map((weight) => weight.value(null));
  const factor = cell.computed("α − 1", differenceOf(numberTerm(alpha), numberTerm(1)));
  const power = alpha === 1.5 ? numberTerm(2) : quotientOf(numberTerm(1), factor);
  const support = scores.filter((_, at) => weights[at] > 0).map((score) => productOf(factor, score));
  const top = weights.indexOf(finiteMax(weights));
  const { threshold, lines } =
    alpha === 1.5
      ? rootThreshold(cell, support)
      : halvedThreshold(cell, support, power, (alpha - 1) * scores[top].value(null) - weights[top] ** (alpha - 1));
  const excess = maximumOf(differenceOf(productOf(factor, scores[cell.column]), threshold), numberTerm(0));
  return [factor.line, ...lines, cell.equation(powerOf(excess, power))];
}

/** The threshold for α = 1.5, from the mean and the spread of the scores that count. */
function rootThreshold(cell, support) {
  const count = numberTerm(support.length);
  const mean = cell.computed("μ", quotientOf(sumOf(support), count));
  const squares = support.map((x) => powerOf(differenceOf(x, mean), numberTerm(2)));
  const spread = cell.computed("δ", sumOf(squares), true);
  const root = rootOf(quotientOf(differenceOf(numberTerm(1), spread), count));
  const threshold = cell.computed("τ", differenceOf(mean, root));
  return { threshold, lines: [mean.line, spread.line, threshold.line] };
}

/** The threshold for another α, which no formula gives, and that the weights add to 1 with it. */
function halvedThreshold(cell, support, power, number) {
  const threshold = cell.computed("τ", numberTerm(number));
  const sum = cell.computed(
    `Σⱼ ${cell.symbol()}ᵢⱼ`,
    sumOf(support.map((x) => powerOf(differenceOf(x, threshold), power))),
  );
  return { threshold, lines: [[...threshold.line, " by iteration until the weights add to 1"], sum.line] };
}
