/* Gradients of the steps around scores and weights: how they pass from results to what those are computed from. */

import {
  columnsOf, concatenated, dotProducts, exchangedAxes, makeArray, mapNumbers, mapPairs, productWithoutZeros, sumsOver,
  withAxis, withoutAxes,
} from "../arrays.js";
import { logistic } from "../elementary.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, expOf, negativeOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, sumOf,
} from "../terms.js";
import { packedColumn } from "./structural.js";

/** The line of a gradient that is the sum of some: of one it is that, of none 0. */
function sumLine(cell, role = "grad", terms = cell.terms(role)) {
  if (terms.length === 0) return ["no result is computed from it: 0"];
  return terms.length === 1 ? cell.unchanged(role) : cell.equation(sumOf(terms), cell.name);
}

/** The line of a gradient that passes unchanged, or is 0 because of what is said. */
function passedLine(cell, isPassed, reason) {
  return isPassed ? cell.unchanged("grad") : [`${reason}: 0`];
}

/** The definition of a gradient that is that of each number times a factor, which is a number and has a term. */
function factored(factorOf, termOf) {
  return {
    compute: ({ grad }, options) => mapNumbers(grad, (x) => x * factorOf(options)),
    work: (cell) => [cell.equation(productOf(termOf(cell), cell.term("grad")), cell.name)],
  };
}

/** The definition of a gradient whose numbers are each computed from one of `role` and one of the gradient. */
function paired(role, compute, lines) {
  return {
    compute: ({ grad, [role]: other }, options) => mapPairs(grad, other, (g, x) => compute(g, x, options)),
    work: (cell) => lines(cell, cell.term("grad"), cell.term(role)),
  };
}

/* The sum of the gradients that reach a step by different ways. */
defineFunction("add_all", {
  compute: (gradients) => Object.values(gradients).reduce((left, right) => mapPairs(left, right, (x, y) => x + y)),
  work: (cell) => [cell.equation(sumOf(cell.roles.map((role) => cell.term(role))), cell.name)],
});

/* The sum over axes along which an array broadcasts. */
defineFunction("sum_over", {
  compute: ({ x }, { axes, kept }) => withoutAxes(sumsOver(x, ...axes), ...axes.filter((axis) => !kept.includes(axis))),
  index: {
    x(cell, source) {
      const { axes, kept } = cell.options;
      const own = source.axes.map((_, axis) => axis).filter((axis) => kept.includes(axis) || !axes.includes(axis));
      return [source.axes.map((_, axis) => (axes.includes(axis) ? null : cell.index[own.indexOf(axis)]))];
    },
  },
  work: (cell) => [sumLine(cell, "x")],
});

/* The gradient of what is projected. */
defineFunction("project_x", {
  compute: ({ grad, w }) => (w === undefined ? grad : dotProducts(grad, w)),
  index: {
    grad: (cell) => [[...cell.index.slice(0, -1), cell.has("w") ? null : cell.column]],
    w: (cell) => [[cell.column, null]],
  },
  work(cell) {
    if (!cell.has("w")) return [cell.unchanged("grad")];
    return [cell.equation(productsOf(cell.terms("grad"), cell.terms("w")), cell.name)];
  },
});

/* The gradient of the matrix of a projection: the sum over the rows. */
defineFunction("project_w", {
  compute: ({ grad, x }) => productWithoutZeros(exchangedAxes(x, -1, -2), grad),
  index: {
    grad: (cell) => [[...cell.index.slice(0, -2), null, cell.column]],
    x: (cell) => [[...cell.index.slice(0, -2), null, cell.index.at(-2)]],
  },
  work: (cell) => [cell.equation(productsOf(cell.terms("x"), cell.terms("grad")), cell.name)],
});

/** The definition of a gradient of a vector that every row gets: the sum over the rows. */
const SUM_OF_ROWS = {
  compute: ({ grad }) => withoutAxes(sumsOver(grad, -2), -2),
  index: { grad: (cell) => [[...cell.index.slice(0, -1), null, cell.column]] },
  work: (cell) => [sumLine(cell)],
};

/* The gradient of the bias of a projection: the sum over the rows. */
defineFunction("project_b", SUM_OF_ROWS);

/* The gradient of the bias of a norm: the sum over the rows. */
defineFunction("norm_bias", SUM_OF_ROWS);

/* The gradient of packed projections: that of a part in its columns, 0 in the others. */
defineFunction("unpack_x", {
  compute({ grad, x }, options) {
    const [columns, width] = [x.shape.at(-1), grad.shape.at(-1)];
    const result = makeArray(x.shape);
    grad.data.forEach((number, at) => {
      result.data[Math.floor(at / width) * columns + packedColumn(at % width, columns, options)] = number;
    });
    return result;
  },
  reads: ["grad"],
  index: {
    grad(cell) {
      const columns = Array.from({ length: cell.lengthOf("grad", -1) }, (_, column) => column);
      const own = columns.filter((at) => packedColumn(at, cell.lengthOf("x", -1), cell.options) === cell.column);
      return own.map((at) => [...cell.index.slice(0, -1), at]);
    },
  },
  work: (cell) => [passedLine(cell, cell.sources().length > 0, "a column of another projection")],
});

/** The definition of a gradient of key heads, on the axis −`own`: the sum over the query heads that read each. */
function sumOfHeads(own) {
  return {
    compute({ grad, x }) {
      const groups = x.shape.at(-own);
      const shape = [...grad.shape.slice(0, -own), groups, grad.shape.at(-own) / groups, ...grad.shape.slice(1 - own)];
      return withoutAxes(sumsOver(makeArray(shape, grad.data), -own), -own);
    },
    reads: ["grad"],
    index: {
      grad(cell) {
        const each = cell.lengthOf("grad", -own) / cell.lengthOf("x", -own);
        const heads = Array.from({ length: each }, (_, head) => cell.index.at(-own) * each + head);
        return heads.map((head) => [...cell.index.slice(0, -own), head, ...cell.index.slice(1 - own)]);
      },
    },
    work: (cell) => [sumLine(cell)],
  };
}

/* The gradient of key heads. */
defineFunction("repeat_kv_x", sumOfHeads(3));

/* The gradient of the numbers of key heads. */
defineFunction("repeat_numbers_x", sumOfHeads(2));

/* The gradient of each head's own features, before those that follow. */
defineFunction("join_features_x", {
  compute: ({ grad, x }) => columnsOf(grad, 0, x.shape.at(-1)),
  reads: ["grad"],
  index: { grad: (cell) => [cell.index] },
  work: (cell) => [cell.unchanged("grad")],
});

/* The gradient of the features that follow: the sum over the heads that share them. */
defineFunction("join_features_shared", {
  compute({ grad, x, shared }) {
    const own = columnsOf(grad, x.shape.at(-1));
    return grad.shape.length > 2 && shared.shape.at(-3) === 1 ? sumsOver(own, -3) : own;
  },
  reads: ["grad"],
  index: {
    grad(cell, source) {
      const column = cell.lengthOf("x", -1) + cell.column;
      const [before, row] = [cell.index.slice(0, -2), cell.index.at(-2)];
      const isSum = source.axes.length > 2 && cell.lengthOf("shared", -3) === 1;
      return [[...(isSum ? [...before.slice(0, -1), null] : before), row, column]];
    },
  },
  work: (cell) => [sumLine(cell)],
});

/** The definition of a gradient of some of the rows that were put together: those from `firstOf(past)` on. */
function partOfRows(firstOf, lengthOf) {
  return {
    compute({ grad, past }) {
      const first = firstOf(past.shape.at(-2));
      const turned = columnsOf(exchangedAxes(grad, -1, -2), first, lengthOf(past.shape.at(-2)));
      return exchangedAxes(turned, -1, -2);
    },
    reads: ["grad"],
    index: {
      grad: (cell) => [
        [...cell.index.slice(0, -2), firstOf(cell.lengthOf("past", -2)) + cell.index.at(-2), cell.column],
      ],
    },
    work: (cell) => [cell.unchanged("grad")],
  };
}

/* The gradient of the cached rows. */
defineFunction("concat_cache_past", partOfRows(() => 0, (cached) => cached));

/* The gradient of the new rows. */
defineFunction("concat_cache_new", partOfRows((cached) => cached, () => undefined));

/* The gradient of rows of which some are selected. */
defineFunction("select_rows_x", {
  compute({ grad, x }, { at }) {
    const [rows, columns] = x.shape.slice(-2);
    const result = makeArray([...grad.shape.slice(0, -2), rows, columns]);
    grad.data.forEach((number, place) => {
      const [row, column] = [Math.floor(place / columns), place % columns];
      const into = Math.floor(row / at.length) * rows + at[row % at.length];
      result.data[into * columns + column] += number;
    });
    return result;
  },
  reads: ["grad"],
  index: {
    grad(cell) {
      const rows = cell.options.at.flatMap((row, at) => (row === cell.index.at(-2) ? [at] : []));
      return rows.map((row) => [...cell.index.slice(0, -2), row, cell.column]);
    },
  },
  work: (cell) => [sumLine(cell)],
});

/* The gradient of the scores before the sink. */
defineFunction("with_column_scores", {
  compute: ({ grad }) => columnsOf(grad, 0, -1),
  index: { grad: (cell) => [cell.index] },
  work: (cell) => [cell.unchanged("grad")],
});

/* The gradient of the sink: the sum over the queries. */
defineFunction("with_column_sink", {
  compute({ grad }, { heads = null }) {
    const sums = withoutAxes(sumsOver(columnsOf(grad, -1), -2), -2);
    return heads === null ? sums : withoutAxes(sums, -1);
  },
  index: {
    grad: (cell) => [
      [...(cell.options.heads === null ? cell.index.slice(0, -1) : cell.index), null, cell.lengthOf("grad", -1) - 1],
    ],
  },
  work: (cell) => [sumLine(cell)],
});

/* The gradient of the weights with that of the sink, which is dropped. */
defineFunction("without_column_weights", {
  compute: ({ grad }) => concatenated(grad, makeArray([...grad.shape.slice(0, -1), 1]), -1),
  index: { grad: (cell) => (cell.column < cell.lengthOf("grad", -1) ? [cell.index] : []) },
  work: (cell) => [passedLine(cell, cell.sources().length > 0, "the weight of the sink is dropped")],
});

/* The gradient of scores that are multiplied. */
defineFunction("scale_scores", factored(({ scale }) => scale, (cell) => parameterTerm(cell.options.scale)));

/* The gradient of vectors that are multiplied. */
defineFunction("multiply_x", factored(({ factor }) => factor, (cell) => parameterTerm(cell.options.factor)));

/* The gradient of vectors that have factors of their own. */
defineFunction("scale_rows_x", {
  compute: ({ grad, factors }) => mapPairs(grad, withAxis(factors, -1), (g, factor) => g * factor),
  work: (cell) => [cell.equation(productOf(cell.term("factors"), cell.term("grad")), cell.name)],
});

/* The gradient of the factors of vectors. */
defineFunction("scale_rows_factors", {
  compute: ({ grad, x }) => withoutAxes(sumsOver(mapPairs(grad, x, (g, number) => g * number), -1), -1),
  work: (cell) => [cell.equation(productsOf(cell.terms("grad"), cell.terms("x")), cell.name)],
});

/* The gradient of capped scores: by 1 − tanh² of the score. */
defineFunction("softcap_scores", paired("forward", (g, y, { cap }) => g * (1 - (y / cap) ** 2), (cell, g, y) => {
  const share = quotientOf(y, parameterTerm(cell.options.cap));
  const slope = differenceOf(numberTerm(1), powerOf(share, numberTerm(2)));
  return [cell.equation(productOf(g, slope), cell.name)];
}));

/* The gradient of numbers that are limited. */
defineFunction("clip_x", paired("x", (g, x, { limit }) => (Math.abs(x) <= limit ? g : 0), (cell, _g, x) => [
  passedLine(cell, Math.abs(x.value(null)) <= cell.options.limit, "the number is limited"),
]));

/* The gradient of the scores before the mask. */
defineFunction("apply_mask_scores", paired("visible", (g, visible) => (visible === 0 ? 0 : g), (cell, _g, visible) => [
  passedLine(cell, visible.value(null) !== 0, "the key is hidden"),
]));

/* The gradient of the user's own numbers: of each the sum over the pairs that read it, 0 where it is −∞. */
defineFunction("add_bias_table", {
  compute({ grad, table, query_rows: queries, key_positions: keys }) {
    const [rows, columns] = table.shape.slice(-2);
    const result = makeArray([...grad.shape.slice(0, -2), rows, columns]);
    grad.data.forEach((number, at) => {
      const pair = Math.floor(at / keys.data.length);
      const [matrix, column] = [Math.floor(pair / queries.data.length), keys.data[at % keys.data.length]];
      const row = rows === 1 ? 0 : queries.data[pair % queries.data.length];
      if (column < columns) result.data[(matrix * rows + row) * columns + column] += number;
    });
    return mapPairs(result, table, (number, bias) => (bias === -Infinity ? 0 : number));
  },
  reads: ["grad", "table"],
  index: {
    grad(cell) {
      const [row, column] = cell.index.slice(-2);
      const positions = (role) => cell.terms(role, [[null]]).map((term) => term.value(null));
      const isOne = cell.lengthOf("table", -2) === 1;
      const queries = positions("query_rows").flatMap((query, at) => (isOne || query === row ? [at] : []));
      const keys = positions("key_positions").flatMap((key, at) => (key === column ? [at] : []));
      return queries.flatMap((query) => keys.map((key) => [...cell.index.slice(0, -2), query, key]));
    },
    table(cell, source) {
      const index = cell.index.slice(-source.axes.length);
      return [index.map((position, axis) => (cell.lengthOf("table", axis) === 1 ? 0 : position))];
    },
  },
  work: (cell) => (cell.term("table").value(null) === -Infinity ? [["the key is masked: 0"]] : [sumLine(cell)]),
});

/* The gradient of weights of which empty rows are filled. */
defineFunction("fill_empty_rows_weights", {
  compute({ grad, weights }) {
    const counts = sumsOver(mapNumbers(weights, (weight) => Number(weight !== 0)), -1);
    return mapPairs(grad, counts, (g, count) => (count === 0 ? 0 : g));
  },
  index: { weights: (cell) => [[...cell.index.slice(0, -1), null]] },
  work(cell) {
    const isEmpty = cell.terms("weights").every((weight) => weight.value(null) === 0);
    return [passedLine(cell, !isEmpty, "every key is hidden")];
  },
});

/* The gradient of what sigmoid gates are made of. */
defineFunction("sigmoid_gate_x", logisticGradient());

/** The definition of a gradient through a sigmoid, from its value. */
export function logisticGradient() {
  return paired("forward", (g, y) => g * y * (1 - y), (cell, g, y) => [
    cell.equation(productOf(productOf(g, y), differenceOf(numberTerm(1), y)), cell.name),
  ]);
}

/** `1 / (1 + exp(−x))` as a term. */
function shareOf(numerator, x) {
  return quotientOf(numerator, sumOf([numberTerm(1), expOf(negativeOf(x))]));
}

/* The gradient of what gates are made of that are a number times its sigmoid. */
defineFunction("silu_gate_x", paired("x", (g, x) => g * logistic(x) * (1 + x * (1 - logistic(x))), (cell, g, x) => {
  const share = cell.computed("σ", shareOf(numberTerm(1), x));
  const slope = sumOf([numberTerm(1), productOf(x, differenceOf(numberTerm(1), share))]);
  return [share.line, cell.equation(productOf(productOf(g, share), slope), cell.name)];
}));

/* The gradient of what gates without an upper limit are made of. */
defineFunction("softplus_gate_x", paired("x", (g, x) => g * logistic(x), (cell, g, x) => [
  cell.equation(shareOf(g, x), cell.name),
]));

/** An array [… n u·e] with the features of each of u gates on an axis of their own. */
function ofGates(array, gates) {
  return makeArray([...array.shape.slice(0, -1), gates, array.shape.at(-1) / gates], array.data);
}

/* The gradient of the merged heads: as far as they are let through. */
defineFunction("apply_gate_x", {
  compute: ({ grad, gate }) =>
    makeArray(grad.shape, mapPairs(ofGates(grad, gate.shape.at(-1)), withAxis(gate, -1), (g, share) => g * share).data),
  index: {
    grad: (cell) => [cell.index],
    gate(cell) {
      const width = cell.lengthOf("grad", -1) / cell.lengthOf("gate", -1);
      return [[...cell.index.slice(0, -1), Math.floor(cell.column / width)]];
    },
  },
  work: (cell) => [cell.equation(productOf(cell.term("grad"), cell.term("gate")), cell.name)],
});

/* The gradient of the gates: what they let through. */
defineFunction("apply_gate_gate", {
  compute({ grad, x, gate }) {
    const products = mapPairs(grad, x, (g, number) => g * number);
    return withoutAxes(sumsOver(ofGates(products, gate.shape.at(-1)), -1), -1);
  },
  reads: ["grad", "x"],
  index: { grad: featuresOfGate, x: featuresOfGate },
  work: (cell) => [cell.equation(productsOf(cell.terms("grad"), cell.terms("x")), cell.name)],
});

/** The cells of the features that a gate lets through. */
function featuresOfGate(cell) {
  const width = cell.lengthOf("x", -1) / cell.lengthOf("gate", -1);
  const first = cell.column * width;
  return Array.from({ length: width }, (_, at) => [...cell.index.slice(0, -1), first + at]);
}
