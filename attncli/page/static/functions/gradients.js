/* Gradients of numbers that are added to places which the function itself computes. */

import { makeArray, mapPairs } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { sumOf } from "../terms.js";

/** The column of a packed array of so many columns in which a column of the part stands. */
function packedColumn(column, columns, { blocks, first, count }) {
  return Math.floor(column / count) * (columns / blocks) + first + (column % count);
}

/** The line of a gradient that is the sum of some: of one it is that, of none 0. */
function sumLine(cell, role = "grad", terms = cell.terms(role)) {
  if (terms.length === 0) return ["no result is computed from it: 0"];
  return terms.length === 1 ? cell.unchanged(role) : cell.equation(sumOf(terms), cell.name);
}

/** The line of a gradient that passes unchanged, or is 0 because of what is said. */
function passedLine(cell, isPassed, reason) {
  return isPassed ? cell.unchanged("grad") : [`${reason}: 0`];
}

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
