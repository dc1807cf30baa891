/* Differences: the weights of one head of each pair less λ times those of the other. */

import { makeArray, mapNumbers, mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, expOf, negativeOf, numberTerm, parameterTerm, productOf, productsOf, sumOf,
} from "../terms.js";

/** The number λ_init: that of a layer where one is given; 0 where neither is. */
function initialLambda({ lambda_init: initial = null, layer = null }) {
  return layer === null ? (initial ?? 0) : 0.8 - 0.6 * Math.exp(-0.3 * layer);
}

/** The lines of λ_init, and its term. */
function initialTerm(cell) {
  const { layer = null } = cell.options;
  if (layer === null) return [[], parameterTerm(initialLambda(cell.options))];
  const falling = expOf(negativeOf(productOf(parameterTerm(0.3), numberTerm(layer))));
  const initial = cell.computed("λ_init", differenceOf(parameterTerm(0.8), productOf(parameterTerm(0.6), falling)));
  return [[initial.line], initial];
}

/** The exponential of the product of two vectors. */
function grownOf(left, right) {
  return Math.exp(left.data.reduce((sum, number, at) => sum + number * right.data[at], 0));
}

const wholeVector = () => [[null]];

/* λ, a number, or made of four vectors and λ_init. */
defineFunction("differential", {
  compute({ lambda_q1: q1, lambda_k1: k1, lambda_q2: q2, lambda_k2: k2 }, options) {
    const { lambda_full: given = null } = options;
    if (given !== null) return makeArray([], [given]);
    const grown = q1 === undefined ? 0 : grownOf(q1, k1) - grownOf(q2, k2);
    return makeArray([], [grown + initialLambda(options)]);
  },
  index: { lambda_q1: wholeVector, lambda_k1: wholeVector, lambda_q2: wholeVector, lambda_k2: wholeVector },
  work(cell) {
    const { lambda_full: given = null } = cell.options;
    if (given !== null) return [[`λ is given: ${cell.write(given)}`]];
    const [lines, initial] = initialTerm(cell);
    if (!cell.has("lambda_q1")) return lines.length > 0 ? lines : [[`λ is λ_init: ${cell.write(cell.number)}`]];
    const [first, second] = [1, 2].map((at) =>
      cell.computed(`exp(λ_q${at}·λ_k${at})`, expOf(productsOf(cell.terms(`lambda_q${at}`), cell.terms(`lambda_k${at}`)))),
    );
    return [first.line, second.line, ...lines, cell.equation(sumOf([differenceOf(first, second), initial]), "λ")];
  },
});

/** The definition of the gradient of one vector of λ: of the pair `at`, the other one times the exponential. */
function ofVector(own, other, at) {
  const sign = at === 1 ? 1 : -1;
  return {
    compute({ grad, [own]: vector, [other]: factor }) {
      const grown = sign * grad.data[0] * grownOf(vector, factor);
      return mapNumbers(factor, (number) => grown * number);
    },
    index: { grad: () => [[]], [own]: wholeVector, [other]: wholeVector },
    work(cell) {
      const factors = cell.terms(other);
      const grown = cell.computed(`exp(λ_q${at}·λ_k${at})`, expOf(productsOf(cell.terms(own), factors)));
      const term = productOf(productOf(cell.term("grad"), grown), factors[cell.column]);
      return [grown.line, cell.equation(sign > 0 ? term : negativeOf(term), cell.name)];
    },
  };
}

/* The gradients of the vectors of λ. */
defineFunction("differential_q1", ofVector("lambda_q1", "lambda_k1", 1));
defineFunction("differential_k1", ofVector("lambda_k1", "lambda_q1", 1));
defineFunction("differential_q2", ofVector("lambda_q2", "lambda_k2", 2));
defineFunction("differential_k2", ofVector("lambda_k2", "lambda_q2", 2));

/** The head of all that is a pair's first (0) or second (1). */
function headOf(pair, heads, pairs, which) {
  return pairs === "halves" ? (which * heads) / 2 + pair : 2 * pair + which;
}

/** The pair of a head, and which of its two heads it is. */
function pairOfHead(head, heads, pairs) {
  return pairs === "halves" ? [head % (heads / 2), Math.floor(head / (heads / 2))] : [Math.floor(head / 2), head % 2];
}

/** An array with so many heads and columns, each number from that of another at an index of its head, row and column. */
function gathered(from, heads, columns, place) {
  const [others, rows, width] = from.shape.slice(-3);
  const result = makeArray([...from.shape.slice(0, -3), heads, rows, columns]);
  for (let at = 0; at < result.data.length; at++) {
    const row = Math.floor(at / columns) % rows;
    const table = Math.floor(at / (columns * rows));
    const found = place(table % heads, at % columns);
    if (found === null) continue;
    const [head, column] = found;
    result.data[at] = from.data[((Math.floor(table / heads) * others + head) * rows + row) * width + column];
  }
  return result;
}

/** The definition of an array that has its numbers from one at another head and column, or is 0. */
function gathering(role, shapeOf, place) {
  return {
    compute(inputs, options) {
      const [heads, columns] = shapeOf(inputs);
      return gathered(inputs[role], heads, columns, (head, column) => place(head, column, { heads, columns, ...options }));
    },
    reads: [role],
    index: {
      [role](cell) {
        const [head, row, column] = cell.index.slice(-3);
        const [heads, , columns] = cell.node.shape.slice(-3);
        const found = place(head, column, { heads, columns, ...cell.options });
        return found === null ? [] : [[...cell.index.slice(0, -3), found[0], row, found[1]]];
      },
    },
    work: (cell) => [
      cell.terms(role).length === 0 ? [`no number of ${cell.symbol(role)} is from it: 0`] : cell.unchanged(role),
    ],
  };
}

/* The first head of each pair, or the second, [… h n m] to half as many heads. */
defineFunction(
  "take_heads",
  gathering(
    "x",
    ({ x }) => [x.shape.at(-3) / 2, x.shape.at(-1)],
    (pair, column, { heads, pairs, which }) => [headOf(pair, 2 * heads, pairs, which), column],
  ),
);

/* The gradient of heads of which some are taken. */
defineFunction(
  "take_heads_x",
  gathering(
    "grad",
    ({ x }) => [x.shape.at(-3), x.shape.at(-1)],
    (head, column, { heads, pairs, which }) => {
      const [pair, own] = pairOfHead(head, heads, pairs);
      return own === which ? [pair, column] : null;
    },
  ),
);

/* The features of both heads of each pair side by side, [… g m e] to half as many heads of twice as many. */
defineFunction(
  "pair_heads",
  gathering(
    "x",
    ({ x }) => [x.shape.at(-3) / 2, 2 * x.shape.at(-1)],
    (pair, column, { heads, columns, pairs }) => [
      headOf(pair, 2 * heads, pairs, Math.floor((2 * column) / columns)),
      column % (columns / 2),
    ],
  ),
);

/* The gradient of heads whose features were put side by side. */
defineFunction(
  "pair_heads_x",
  gathering(
    "grad",
    ({ x }) => [x.shape.at(-3), x.shape.at(-1)],
    (head, column, { heads, columns, pairs }) => {
      const [pair, which] = pairOfHead(head, heads, pairs);
      return [pair, which * columns + column];
    },
  ),
);

const oneNumber = () => [[]];

/* The first map less the second, λ times. */
defineFunction("subtract_map", {
  compute: ({ first, second, factor }) => mapPairs(first, second, (left, right) => left - factor.data[0] * right),
  index: { factor: oneNumber },
  work: (cell) => [
    cell.equation(differenceOf(cell.term("first"), productOf(cell.term("factor"), cell.term("second")))),
  ],
});

/* The gradient of the second map. */
defineFunction("subtract_map_second", {
  compute: ({ grad, factor }) => mapNumbers(grad, (number) => -factor.data[0] * number),
  index: { factor: oneNumber },
  work: (cell) => [cell.equation(negativeOf(productOf(cell.term("factor"), cell.term("grad"))), cell.name)],
});

/* The gradient of λ: over all queries and keys. */
defineFunction("subtract_map_factor", {
  compute: ({ grad, second }) =>
    makeArray([], [-grad.data.reduce((sum, number, at) => sum + (number === 0 ? 0 : number * second.data[at]), 0)]),
  index: {
    grad: (_, source) => [source.axes.map(() => null)],
    second: (_, source) => [source.axes.map(() => null)],
  },
  work(cell) {
    const fit = cell.computed("Σ dD∘P₂", productsOf(cell.terms("grad"), cell.terms("second")));
    return [fit.line, cell.equation(negativeOf(fit), cell.name)];
  },
});

/** The definition of an array that is another 1 − λ_init times. */
function scaled(role, nameOf) {
  return {
    compute: ({ [role]: array }, options) => mapNumbers(array, (number) => (1 - initialLambda(options)) * number),
    work(cell) {
      const [lines, initial] = initialTerm(cell);
      const factor = cell.computed("1 − λ_init", differenceOf(numberTerm(1), initial));
      return [...lines, factor.line, cell.equation(productOf(factor, cell.term(role)), nameOf(cell))];
    },
  };
}

/* The context, and its gradient, 1 − λ_init times. */
defineFunction("scale_context", scaled("x", () => undefined));
defineFunction("scale_context_x", scaled("grad", (cell) => cell.name));
