/* The query's factor grows with the logarithm of its number of keys, learned for each head. */

import { makeArray, mapNumbers, mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { lnOf, numberTerm, parameterTerm, productOf, sumOf } from "../terms.js";

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

/** The number of the head of a cell. */
function ofHead(cell) {
  return [[cell.at.h ?? 0]];
}
