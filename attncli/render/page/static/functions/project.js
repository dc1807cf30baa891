/* `x @ w + b`: each row times a matrix, and a bias. */

import { mapPairs, matrixProduct } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { productsOf, sumOf } from "../terms.js";

defineFunction("project", {
  compute({ x, w, b }) {
    const product = w === undefined ? x : matrixProduct(x, w);
    return b === undefined ? product : mapPairs(product, b, (left, right) => left + right);
  },
  index: {
    x: (cell) => [[...cell.index.slice(0, -1), cell.has("w") ? null : cell.column]],
    w: (cell) => [[null, cell.column]],
    b: (cell) => [[cell.column]],
  },
  work(cell) {
    const product = cell.has("w") ? productsOf(cell.terms("x"), cell.terms("w")) : cell.term("x");
    const [row, column] = cell.node.axes.slice(-2);
    const name = `${cell.node.name}(${cell.label(row)})[${cell.label(column)}]`;
    return [cell.equation(cell.has("b") ? sumOf([product, cell.term("b")]) : product, name)];
  },
});
