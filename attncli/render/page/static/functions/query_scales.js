/* Factors of the queries that depend on their positions. */

import { makeArray, mapNumbers, mapPairs, sumsOver, withAxis, withoutAxes } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { lnOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, sumOf } from "../terms.js";

/* The query's factor is 1 up to a length, and rises by a step at each multiple of it. */
defineFunction("log_steps", {
  compute({ positions }, { length, factor = 0.1, offset = 1 }) {
    return mapNumbers(positions, (position) => 1 + factor * Math.log1p(stepsOf(position, offset, length)));
  },
  work(cell) {
    const { length, factor = 0.1, offset = 1 } = cell.options;
    const position = Math.max(cell.term("positions").value(null), 0);
    const steps = stepsOf(position, offset, length);
    const counted = offset === 0 ? numberTerm(position) : sumOf([numberTerm(position), parameterTerm(offset)]);
    const quotient = cell.computed("position / length", quotientOf(counted, parameterTerm(length)));
    const rounded = steps * length === position + offset ? [] : [`, rounded down ${cell.write(steps)}`];
    const logarithm = lnOf(sumOf([numberTerm(1), numberTerm(steps)]));
    const factored = sumOf([numberTerm(1), productOf(parameterTerm(factor), logarithm)]);
    return [[...quotient.line, ...rounded], cell.equation(factored)];
  },
});

/** How often the length fits into a position. */
function stepsOf(position, offset, length) {
  return Math.floor((Math.max(position, 0) + offset) / length);
}

/* The query's factor is 1 up to a length, and grows with the logarithm of the position beyond it. */
defineFunction("logn", {
  compute({ positions }, { length, factor }) {
    const times = factor ?? 1 / Math.log(length);
    return mapNumbers(positions, (position) => 1 + times * Math.log(Math.max(keysUpTo(position) / length, 1)));
  },
  work(cell) {
    const { length, factor = null } = cell.options;
    const count = keysUpTo(cell.term("positions").value(null));
    if (count <= length) {
      return [[`${count} ${count > 1 ? "keys" : "key"} ≤ length ${cell.write(length)}: ${cell.write(cell.number)}`]];
    }
    const [keys, most] = [numberTerm(count), parameterTerm(length)];
    if (factor === null) return [cell.equation(quotientOf(lnOf(keys), lnOf(most)))];
    return [cell.equation(sumOf([numberTerm(1), productOf(parameterTerm(factor), lnOf(quotientOf(keys, most)))]))];
  },
});

/** How many keys there are up to a position. */
function keysUpTo(position) {
  return Math.max(position, 0) + 1;
}

/* The query's factor grows with a power of the position. */
defineFunction("power", {
  compute({ positions }, { length, exponent = 0.1 }) {
    return mapNumbers(positions, (position) => (1 + (Math.max(position, 0) + 1) / length) ** exponent);
  },
  work(cell) {
    const { length, exponent = 0.1 } = cell.options;
    const count = sumOf([numberTerm(Math.max(cell.term("positions").value(null), 0)), numberTerm(1)]);
    const base = sumOf([numberTerm(1), quotientOf(count, parameterTerm(length))]);
    return [cell.equation(powerOf(base, parameterTerm(exponent)))];
  },
});

/* The query's factor grows with the logarithm of its number of keys, learned for each head. */
defineFunction("ssmax", {
  compute({ positions, ...arrays }, options) {
    const { heads = null } = options;
    const logarithms = mapNumbers(positions, (position) => Math.log(Math.max(position, 0) + 1));
    const [scales, biases] = [["scale", 1], ["bias", 0]].map(([name, otherwise]) => {
      const numbers = arrays[name] ?? makeArray([1], [options[name] ?? otherwise]);
      return heads === null ? makeArray([], numbers.data) : withAxis(numbers, -1);
    });
    const scaled = mapPairs(scales, logarithms, (scale, logarithm) => scale * logarithm);
    return mapPairs(scaled, biases, (number, bias) => number + bias);
  },
  index: { scale: ofHead, bias: ofHead },
  work(cell) {
    const term = (name, otherwise) =>
      cell.has(name) ? cell.term(name) : parameterTerm(cell.options[name] ?? otherwise);
    const [scale, bias] = [term("scale", 1), term("bias", 0)];
    const count = sumOf([numberTerm(Math.max(cell.term("positions").value(null), 0)), numberTerm(1)]);
    const product = scale.value(null) === 1 ? lnOf(count) : productOf(scale, lnOf(count));
    return [cell.equation(bias.value(null) === 0 ? product : sumOf([product, bias]))];
  },
});

/** The definition of the gradient of a number of each head: the sum over the queries, each times what `factor` gives. */
function sumOfQueries(factor) {
  return {
    compute({ grad, positions }, { heads = null }) {
      const products = factor === null ? grad : mapPairs(grad, positions, (g, position) => g * Math.log(factor(position)));
      const sums = sumsOver(products, -1);
      return heads === null ? sums : withoutAxes(sums, -1);
    },
    index: { grad: (cell) => [[...((cell.options.heads ?? null) === null ? cell.index.slice(0, -1) : cell.index), null]] },
    work(cell) {
      const gradients = cell.terms("grad");
      if (factor === null) return [cell.equation(sumOf(gradients), cell.name)];
      const logarithms = cell.terms("positions").map((position) => lnOf(numberTerm(factor(position.value(null)))));
      return [cell.equation(productsOf(gradients, logarithms), cell.name)];
    },
  };
}

/* The gradient of the scale: the logarithms of the numbers of keys, each times the gradient of its factor. */
defineFunction("ssmax_scale", sumOfQueries((position) => Math.max(position, 0) + 1));

/* The gradient of the bias: the sum over the queries. */
defineFunction("ssmax_bias", sumOfQueries(null));

/** The number of the head of a cell. */
function ofHead(cell) {
  return [[cell.at.h ?? 0]];
}

/* Each vector times its factor. */
defineFunction("scale_rows", {
  compute: ({ x, factors }) => mapPairs(withAxis(factors, -1), x, (factor, number) => factor * number),
  work: (cell) => [cell.equation(productOf(cell.term("factors"), cell.term("x")))],
});
