/* Gradients of weights and values, from that of the context, and of scores, from that of the weights. */

import { dotProducts, exchangedAxes, mapNumbers, mapPairs, matrixProduct, sumsOver } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, sumOf,
} from "../terms.js";
import { logisticGradient } from "./gradients.js";

/* The gradient of the weights: how well each value fits the gradient of the context. */
defineFunction("weighted_sum_weights", {
  compute({ grad, value, weights }) {
    const infinite = sumsOver(mapNumbers(value, (x) => Number(!Number.isFinite(x))), -1);
    const isLeftOut = mapPairs(weights, exchangedAxes(infinite, -1, -2), (weight, count) => Number(weight === 0 && count > 0));
    return mapPairs(dotProducts(grad, value), isLeftOut, (fit, isOut) => (isOut === 1 ? 0 : fit));
  },
  work(cell) {
    const values = cell.terms("value");
    const isFinite = values.every((value) => Number.isFinite(value.value(null)));
    if (cell.term("weights").value(null) === 0 && !isFinite) return [["a value that is not finite, of weight 0: 0"]];
    return [cell.equation(productsOf(cell.terms("grad"), values), cell.name)];
  },
});

/* The gradient of the values: each query's, times its weight. */
defineFunction("weighted_sum_value", {
  compute: ({ grad, weights }) => matrixProduct(exchangedAxes(weights, -1, -2), grad),
  work: (cell) => [cell.equation(productsOf(cell.terms("weights"), cell.terms("grad")), cell.name)],
});

/** What is known of every gradient of a row of scores: it reads the whole row. */
const OF_ROW = { whole: ["m", "m+1"] };

/** The sums of the rows of a product [… n 1]. */
function sumsOfProducts(left, right) {
  return sumsOver(mapPairs(left, right, (x, y) => x * y), -1);
}

/** The gradients of a row, less their mean by the weights. */
function lessMean(grad, forward) {
  return mapPairs(grad, sumsOfProducts(grad, forward), (g, mean) => g - mean);
}

/** The mean of the gradients of a row by its weights, with its line, and the gradient of the cell less it. */
function meanAndDifference(cell) {
  const [gradients, weights] = [cell.terms("grad"), cell.terms("forward")];
  const mean = cell.computed("Σⱼ dA∘A", productsOf(gradients, weights));
  return { mean, difference: differenceOf(gradients[cell.column], mean) };
}

/** The gradient of the scores of softmax: A ∘ (dA − Σⱼ dA∘A), by the temperature. */
function softmaxGradient({ grad, forward }, { temperature = 1 }) {
  return mapPairs(forward, lessMean(grad, forward), (weight, difference) => (weight * difference) / temperature);
}

/** Its lines: the mean, and one weight times the difference from it. */
function softmaxGradientLines(cell) {
  const { temperature = 1 } = cell.options;
  const { mean, difference } = meanAndDifference(cell);
  const own = productOf(cell.terms("forward")[cell.column], difference);
  return [mean.line, cell.equation(temperature === 1 ? own : quotientOf(own, parameterTerm(temperature)), cell.name)];
}

/* The gradient of the scores of softmax, and of softmax1. */
defineFunction("softmax_scores", { ...OF_ROW, compute: softmaxGradient, work: softmaxGradientLines });

/* The gradient of the k largest scores; there is none in a row where others equal the k-th. */
defineFunction("topk_scores", {
  ...OF_ROW,
  compute({ grad, forward }, { k }) {
    const counts = sumsOver(mapNumbers(forward, (weight) => Number(weight !== 0)), -1);
    return softmaxGradient({ grad: mapPairs(grad, counts, (g, count) => (count > k ? NaN : g)), forward }, {});
  },
  reads: ["grad", "forward"],
  work: softmaxGradientLines,
});

/* The gradient of the scores of sigmoid, each on its own. */
defineFunction("sigmoid_scores", logisticGradient());

/* The gradient of the scores that are positive. */
defineFunction("relu_scores", {
  compute: ({ grad, scores }) => mapPairs(grad, scores, (g, score) => (score > 0 ? g : 0)),
  work(cell) {
    const score = cell.term("scores");
    return [cell.sentence(score, score.value(null) > 0 ? " > 0: " : " ≤ 0: ", cell.write(cell.number))];
  },
});

/* The gradient of the scores that are the weights. */
defineFunction("none_scores", {
  compute: ({ grad, scores }) => mapPairs(grad, scores, (g, score) => (score === -Infinity ? 0 : g)),
  work: (cell) => [cell.term("scores").value(null) === -Infinity ? ["the key is masked: 0"] : cell.unchanged("grad")],
});

/** The scores, 0 where a key is masked. */
function visibleScores(scores) {
  return mapNumbers(scores, (score) => (score === -Infinity ? 0 : score));
}

/* The gradient of scores that are divided by their sum. */
defineFunction("sum_scores", {
  ...OF_ROW,
  compute({ grad, scores, forward }) {
    const sums = sumsOver(visibleScores(scores), -1);
    const changes = mapPairs(lessMean(grad, forward), sums, (change, sum) => (sum === 0 ? 0 : change / sum));
    return mapPairs(changes, scores, (change, score) => (score === -Infinity ? 0 : change));
  },
  work(cell) {
    const scores = cell.terms("scores");
    const visible = scores.map((score) => (score.value(null) === -Infinity ? numberTerm(0) : score));
    const sum = cell.computed(`Σⱼ ${cell.symbol("scores")}ᵢⱼ`, sumOf(visible));
    if (sum.value(null) === 0 || visible[cell.column] !== scores[cell.column]) return [["the weight is 0, whatever the score: 0"]];
    const { mean, difference } = meanAndDifference(cell);
    return [mean.line, sum.line, cell.equation(quotientOf(difference, sum), cell.name)];
  },
});

/** The gradient of the scores of the support: each by its slope, which is a power of the weight. */
function supportGradient({ grad, forward }, alpha) {
  const slopes = mapNumbers(forward, (weight) => (weight > 0 ? weight ** (2 - alpha) : 0));
  const means = mapPairs(sumsOfProducts(slopes, grad), sumsOver(slopes, -1), (sum, size) => (size === 0 ? 0 : sum / size));
  return mapPairs(slopes, mapPairs(grad, means, (g, mean) => g - mean), (slope, difference) => slope * difference);
}

/** The mean of the gradients of the support, each as its weight counts, and one gradient from it. */
function supportLines(cell, alpha) {
  const [gradients, weights] = [cell.terms("grad"), cell.terms("forward")];
  const isIn = (_, at) => weights[at].value(null) > 0;
  if (!isIn(null, cell.column)) return [["the weight is 0: 0"]];
  const [own, support] = [gradients[cell.column], gradients.filter(isIn)];
  if (alpha === 2) {
    const mean = cell.computed("mean of dA", quotientOf(sumOf(support), numberTerm(support.length)));
    return [mean.line, cell.equation(differenceOf(own, mean), cell.name)];
  }
  const slopeOf = (weight) => (alpha === 1 ? weight : powerOf(weight, parameterTerm(2 - alpha)));
  const slopes = weights.filter(isIn).map(slopeOf);
  const sum = cell.computed("Σⱼ s", sumOf(slopes));
  const weighted = cell.computed("Σⱼ s dA", productsOf(slopes, support));
  const difference = differenceOf(own, quotientOf(weighted, sum));
  return [sum.line, weighted.line, cell.equation(productOf(slopeOf(weights[cell.column]), difference), cell.name)];
}

/* The gradient of the scores of sparsemax. */
defineFunction("sparsemax_scores", {
  ...OF_ROW,
  compute: (inputs) => supportGradient(inputs, 2),
  work: (cell) => supportLines(cell, 2),
});

/* The gradient of the scores of entmax. */
defineFunction("entmax_scores", {
  ...OF_ROW,
  compute: (inputs, { alpha }) => supportGradient(inputs, alpha),
  work: (cell) => supportLines(cell, cell.options.alpha),
});
