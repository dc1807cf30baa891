/* Normalizers: from the scores of a row to its weights. */

import { mapNumbers, mapPairs, mapRows, sumsOver } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, expOf, lnOf, maximumOf, numberTerm, parameterTerm, powerOf, productOf, productsOf,
  quotientOf, rootOf, sumOf,
} from "../terms.js";

/** The largest number of a row; 0 where every key is masked, NaN where one number is NaN. */
function finiteMax(row) {
  const largest = row.reduce((a, b) => Math.max(a, b), -Infinity);
  return largest === -Infinity ? 0 : largest;
}

/** The sum of some numbers. */
function sumOfNumbers(numbers) {
  return numbers.reduce((sum, x) => sum + x, 0);
}

/** A row divided by a number; zeros where that is 0. */
function safeQuotient(row, divisor) {
  return row.map((x) => (divisor === 0 ? 0 : x / divisor));
}

/** An array whose rows are those of another array through a function of a row. */
function normalizedRows(scores, compute) {
  return mapRows(scores, scores.shape.at(-1), compute);
}

/** The exponentials of a row, less its largest number, which are tapped, and their quotients by their sum. */
function softmaxRows(scores, temperature, tap) {
  const exponentials = normalizedRows(scores, (row) => {
    const largest = finiteMax(row);
    return row.map((x) => Math.exp((x - largest) / temperature));
  });
  tap("exponentials", exponentials);
  return normalizedRows(exponentials, (row) => safeQuotient(row, sumOfNumbers(row)));
}

/** The softmax of each row and no inner quantity. */
export function plainSoftmax(scores) {
  return softmaxRows(scores, 1, (name, value) => value);
}

/** A row of scores less its largest; those up to −1 are set far below, so that τ is never under −1. */
function clippedScores(row, factor = 1) {
  const largest = finiteMax(row);
  return row.map((x) => (factor * (x - largest) <= -1 ? -2 : factor * (x - largest)));
}

/** The numbers of a row from the largest to the smallest, NaN last. */
function descending(row) {
  return row.map((x) => -x).sort().map((x) => -x);
}

/** The nearest weights that add to 1 to the scores of each row. */
function sparsemaxRows(scores) {
  return normalizedRows(scores, (row) => {
    const shifted = clippedScores(row);
    let [sum, size, total] = [0, 0, 0];
    descending(shifted).forEach((x, at) => {
      sum += x;
      if (x * (at + 1) > sum - 1) [size, total] = [size + 1, total + x];
    });
    const threshold = (total - 1) / size;
    return shifted.map((x, at) => (row[at] === -Infinity ? 0 : Math.max(x - threshold, 0)));
  });
}

/** The term of the largest of some terms; one that is NaN where there is one, as it is of numbers. */
function largestTerm(terms) {
  const isNaNTerm = (term) => Number.isNaN(term.value(null));
  return terms.reduce((largest, term) => (isNaNTerm(term) || term.value(null) > largest.value(null) ? term : largest));
}

/** `exp(S − max)`, over the temperature where that is not 1. */
function exponentialTerm(score, largest, temperature = 1) {
  const difference = differenceOf(score, largest);
  return expOf(temperature === 1 ? difference : quotientOf(difference, parameterTerm(temperature)));
}

/** One of the exponentials of a row, the sum that divides them all, and the quotient. */
function exponentialLines(cell, exponential, own, addends) {
  const sum = cell.computed("Σⱼ exp", sumOf(addends, addends.indexOf(own)));
  return [cell.equation(exponential, "", own.value(null)), sum.line, cell.equation(quotientOf(own, sum))];
}

/** The line of a row without keys, or with a score that is NaN, for which nothing is computed; null of any other. */
function lineWithoutNumbers(scores) {
  const row = scores.map((score) => score.value(null));
  if (row.every((score) => score === -Infinity)) return [["every key is hidden: all weights are 0"]];
  return row.some(Number.isNaN) ? [["a score of the row is NaN: the weights of all visible keys are NaN"]] : null;
}

/** The lines of softmax, of scores and exponentials as terms. */
function softmaxLines(cell, scores, exponentials, temperature = 1) {
  const exponential = exponentialTerm(scores[cell.column], largestTerm(scores), temperature);
  return exponentialLines(cell, exponential, exponentials[cell.column], exponentials);
}

/** The lines of sparsemax: the threshold τ, then one score's excess over it. */
function sparsemaxLines(cell, scores) {
  const weights = cell.row();
  const support = scores.filter((_, at) => weights[at].value(null) > 0);
  const difference = differenceOf(sumOf(support), numberTerm(1));
  const threshold = cell.computed("τ", quotientOf(difference, numberTerm(support.length)));
  return [threshold.line, cell.equation(maximumOf(differenceOf(scores[cell.column], threshold), numberTerm(0)))];
}

/* Softmax: exponentials, divided by their sum. */
defineFunction("softmax", {
  compute: ({ scores }, { temperature = 1 }, tap) => softmaxRows(scores, temperature, tap),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    return lineWithoutNumbers(scores) ?? softmaxLines(cell, scores, cell.terms("exponentials"), cell.options.temperature);
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work(cell) {
        const scores = cell.terms("scores");
        const own = exponentialTerm(scores[cell.column], largestTerm(scores), cell.options.temperature);
        return lineWithoutNumbers(scores) ?? [cell.equation(own)];
      },
    },
  },
});

const ZERO = numberTerm(0);

/* Softmax with one more key that scores 0 and is dropped. */
defineFunction("softmax1", {
  compute({ scores }, options, tap) {
    const width = scores.shape.at(-1);
    const tops = rowNumbers(mapRows(scores, 1, (row) => [Math.max(finiteMax(row), 0)]));
    const powers = mapRows(scores, width, (row, top) => row.map((x) => Math.exp(x - top)), tops);
    const share = (row, top) => safeQuotient(row, Math.exp(-top) + sumOfNumbers(row));
    return mapRows(tap("exponentials", powers), width, share, tops);
  },
  whole: ["m", "m+1"],
  work(cell) {
    const exponentials = cell.terms("exponentials");
    const ofZero = cell.computed("exp of the score 0", exponentialTerm(ZERO, topTerm(cell)));
    const exponential = exponentialTerm(cell.terms("scores")[cell.column], topTerm(cell));
    return [ofZero.line, ...exponentialLines(cell, exponential, exponentials[cell.column], [ofZero, ...exponentials])];
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work: (cell) => [cell.equation(exponentialTerm(cell.terms("scores")[cell.column], topTerm(cell)))],
    },
  },
});

/** One number for each row [… n 1] without the last axis. */
function rowNumbers({ shape, data }) {
  return { shape: shape.slice(0, -1), data };
}

/** The largest score of the row, at least 0. */
function topTerm(cell) {
  return largestTerm([ZERO, ...cell.terms("scores")]);
}

/* Softmax over the k best keys; keys that tie with the k-th stay. */
defineFunction("topk", {
  compute({ scores }, { k }, tap) {
    const best = normalizedRows(scores, (row) => {
      const least = kthLargest(row, k);
      return row.map((x) => (x < least ? -Infinity : x));
    });
    return softmaxRows(best, 1, tap);
  },
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    const least = leastOfTop(cell, scores);
    const own = scores[cell.column];
    const line = lineWithoutNumbers(scores);
    if (line !== null) return line;
    if (own.value(null) < least) return [notAmong(cell, own)];
    const exponentials = cell.terms("exponentials");
    const inTop = exponentials.filter((_, at) => scores[at].value(null) >= least);
    return exponentialLines(cell, exponentialTerm(own, largestTerm(scores)), exponentials[cell.column], inTop);
  },
  inner: {
    exponentials: {
      whole: ["m", "m+1"],
      work(cell) {
        const scores = cell.terms("scores");
        const own = scores[cell.column];
        const line = lineWithoutNumbers(scores);
        if (line !== null) return line;
        const isInTop = own.value(null) >= leastOfTop(cell, scores);
        return [isInTop ? cell.equation(exponentialTerm(own, largestTerm(scores))) : notAmong(cell, own)];
      },
    },
  },
});

/** The k-th largest number of a row; the smallest where there are fewer. */
function kthLargest(row, k) {
  return descending(row)[Math.min(k, row.length) - 1];
}

/** The k-th largest of the scores of a cell's row. */
function leastOfTop(cell, scores) {
  return kthLargest(Float64Array.from(scores, (score) => score.value(null)), cell.options.k);
}

/** That a score does not take part. */
function notAmong(cell, score) {
  return cell.sentence(score, ` is not among the ${cell.options.k} largest scores: the weight is 0`);
}

/* Sparsemax: the nearest weights that add to 1; low scores get exactly 0. */
defineFunction("sparsemax", {
  compute: ({ scores }) => sparsemaxRows(scores),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    return lineWithoutNumbers(scores) ?? sparsemaxLines(cell, scores);
  },
});

/* Entmax: between softmax (α = 1) and sparsemax (α = 2). */
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

/* All weight on the largest score; keys that tie share it. */
defineFunction("hardmax", {
  compute: ({ scores }) =>
    normalizedRows(scores, (row) => {
      const largest = finiteMax(row);
      const equal = row.map((x) => (Number.isNaN(largest) ? NaN : Number(x === largest)));
      return safeQuotient(equal, sumOfNumbers(equal));
    }),
  whole: ["m", "m+1"],
  isDistribution: true,
  work(cell) {
    const scores = cell.terms("scores");
    const [own, top] = [scores[cell.column], largestTerm(scores)];
    const line = lineWithoutNumbers(scores);
    if (line !== null) return line;
    if (own.value(null) < top.value(null)) {
      return [cell.sentence(own, " is less than the largest score, ", top, ": the weight is 0")];
    }
    const equal = scores.filter((score) => score.value(null) === top.value(null)).length;
    if (equal === 1) return [cell.sentence(own, " is the largest score: the weight is 1")];
    const share = cell.equation(quotientOf(numberTerm(1), numberTerm(equal)));
    return [[...cell.sentence(own, ` is one of the ${equal} largest scores: `), ...share]];
  },
});

/* What a query gets that sees no key, where that is not 0: NaN, or the same weight for every key. */
defineFunction("fill_empty_rows", {
  compute: ({ weights }, { fill, keys }) =>
    normalizedRows(weights, (row) => {
      if (row.some((weight) => weight !== 0)) return row;
      return row.map(() => (fill === "nan" ? NaN : 1 / keys));
    }),
  whole: ["m"],
  work(cell) {
    const weights = cell.terms("weights");
    if (weights.some((weight) => weight.value(null) !== 0)) {
      return [cell.sentence("some keys are visible: the weight stays ", weights[cell.column])];
    }
    const { fill, keys } = cell.options;
    const weight = fill === "nan" ? "NaN" : `1/${keys} = ${cell.write(cell.number)}`;
    return [[`every key is hidden: ${weight}`]];
  },
});

/* The log-sum-exp of a row: the logarithm of what divides its exponentials, `extra` among them. */
defineFunction("log_sum_exp", {
  compute({ scores }, { temperature = 1, extra = 0 }) {
    const logarithm = (row) => {
      const largest = extra === 0 ? finiteMax(row) : Math.max(finiteMax(row), 0);
      const sum = sumOfNumbers(row.map((x) => Math.exp((x - largest) / temperature)));
      return [largest / temperature + Math.log(sum + extra * Math.exp(-largest / temperature))];
    };
    return rowNumbers(mapRows(scores, 1, logarithm));
  },
  whole: ["m", "m+1"],
  work(cell) {
    const { temperature = 1, extra = 0 } = cell.options;
    const scores = cell.terms("scores");
    if (scores.some((score) => Number.isNaN(score.value(null)))) return [["a score of the row is NaN: the sum is NaN"]];
    const visible = scores.filter((score) => score.value(null) !== -Infinity);
    const candidates = extra === 0 ? visible : [ZERO, ...visible];
    if (candidates.length === 0) return [["every key is hidden: the sum is 0, and its logarithm −∞"]];
    const top = largestTerm(candidates);
    const extras = extra === 0 ? [] : [productOf(parameterTerm(extra), exponentialTerm(ZERO, top, temperature))];
    const powers = visible.map((score) => exponentialTerm(score, top, temperature));
    const sum = cell.computed("Σⱼ exp", sumOf([...extras, ...powers]));
    const shift = temperature === 1 ? top : quotientOf(top, parameterTerm(temperature));
    return [sum.line, cell.equation(sumOf([shift, lnOf(sum)]))];
  },
});

/** The sums of the rows of a product [… n 1]. */
function sumsOfProducts(left, right) {
  return sumsOver(mapPairs(left, right, (x, y) => x * y), -1);
}

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

/* The gradient of the scores of sparsemax, those of its support. */
defineFunction("sparsemax_scores", {
  compute: (inputs) => supportGradient(inputs, 2),
  whole: ["m", "m+1"],
  work: (cell) => supportLines(cell, 2),
});

/* The gradient of the scores of entmax, which are those of its support: it is found by iteration. */
defineFunction("entmax_scores", {
  compute: (inputs, { alpha }) => supportGradient(inputs, alpha),
  whole: ["m", "m+1"],
  work: (cell) => supportLines(cell, cell.options.alpha),
});
