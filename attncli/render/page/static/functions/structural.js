/* Projections, heads and caches: arrays in another shape, or joined with others. */

import {
  broadcastTo, concatenated, exchangedAxes, makeArray, mapPairs, mapRows, matrixProduct, perHead, withAxis,
  withoutAxes,
} from "../arrays.js";
import { defineFunction } from "../functions.js";
import { productsOf, sumOf } from "../terms.js";

/* `x @ w + b`: each row times a matrix, and a bias. */
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

/** The column of a packed array of so many columns in which a column of the part stands. */
export function packedColumn(column, columns, { blocks, first, count }) {
  return Math.floor(column / count) * (columns / blocks) + first + (column % count);
}

/* The columns of one projection among packed ones: `count` from `first` of each of equal blocks. */
defineFunction("unpack", {
  compute({ x }, options) {
    const columns = x.shape.at(-1);
    const result = makeArray([...x.shape.slice(0, -1), options.blocks * options.count]);
    const width = result.shape.at(-1);
    for (let at = 0; at < result.data.length; at++) {
      result.data[at] = x.data[Math.floor(at / width) * columns + packedColumn(at % width, columns, options)];
    }
    return result;
  },
  index: {
    x: (cell) => [[...cell.index.slice(0, -1), packedColumn(cell.column, cell.lengthOf("x", -1), cell.options)]],
  },
  work: (cell) => [cell.unchanged("x")],
});

/* The array itself, unchanged. */
defineFunction("identity", {
  compute: ({ x }) => x,
  index: { x: (cell) => [cell.index] },
  work: (cell) => [cell.unchanged("x")],
});

/* The features split into heads, [… n h·d] to [… h n d]. */
defineFunction("split_heads", {
  compute: ({ x }, { heads }) => splitHeads(x, heads),
  index: { x: (cell) => splitIndex(cell, cell.lengthOf("x", -1) / cell.options.heads) },
  work: (cell) => [cell.unchanged("x")],
});

/* The gradient of heads that are merged, split again. */
defineFunction("merge_heads_x", {
  compute: ({ grad, x }) => splitHeads(grad, x.shape.at(-3)),
  reads: ["grad"],
  index: { grad: (cell) => splitIndex(cell, cell.lengthOf("x", -1)) },
  work: (cell) => [cell.unchanged("grad")],
});

/** The features split into heads, [… n h·d] to [… h n d]. */
function splitHeads(array, heads) {
  const features = array.shape.at(-1) / heads;
  return exchangedAxes(makeArray([...array.shape.slice(0, -1), heads, features], array.data), -2, -3);
}

/** The cell of heads side by side, of so many features each, that a cell of one head is. */
function splitIndex(cell, features) {
  const [head, row, feature] = cell.index.slice(-3);
  return [[...cell.index.slice(0, -3), row, head * features + feature]];
}

/* The heads side by side, the first one first, [… h n e] to [… n h·e]. */
defineFunction("merge_heads", merging("x"));

/* The gradient of features that are split into heads, side by side again. */
defineFunction("split_heads_x", merging("grad"));

/** The definition of heads of a role that are put side by side, [… h n e] to [… n h·e]. */
function merging(role) {
  return {
    compute({ [role]: array }) {
      const [heads, rows, features] = array.shape.slice(-3);
      return makeArray([...array.shape.slice(0, -3), rows, heads * features], exchangedAxes(array, -2, -3).data);
    },
    index: {
      [role](cell) {
        const [row, feature] = cell.index.slice(-2);
        const width = cell.lengthOf(role, -1);
        return [[...cell.index.slice(0, -2), Math.floor(feature / width), row, feature % width]];
      },
    },
    work: (cell) => [cell.unchanged(role)],
  };
}

/* Query head h reads key head h // (heads / g), [… g m c] to [… h m c]. */
defineFunction("repeat_kv", {
  compute: ({ x }, { heads }) => repeatHeads(x, heads),
  index: {
    x(cell) {
      const group = Math.floor(cell.index.at(-3) / (cell.options.heads / cell.lengthOf("x", -3)));
      return [[...cell.index.slice(0, -3), group, ...cell.index.slice(-2)]];
    },
  },
  work: (cell) => [cell.unchanged("x")],
});

/** Each key head once for each query head that reads it. */
function repeatHeads(x, heads) {
  const [groups, rows, columns] = x.shape.slice(-3);
  const result = makeArray([...x.shape.slice(0, -3), heads, rows, columns]);
  const size = rows * columns;
  for (let table = 0; table * size < result.data.length; table++) {
    const from = Math.floor(table / (heads / groups));
    result.data.set(x.data.subarray(from * size, (from + 1) * size), table * size);
  }
  return result;
}

/* Query head h reads the numbers of key head h // (heads / g), [… g n] to [… h n]. */
defineFunction("repeat_numbers", {
  compute: ({ x }, { heads }) => withoutAxes(repeatHeads(withAxis(x, -1), heads), -1),
  index: {
    x(cell) {
      const group = Math.floor(cell.index.at(-2) / (cell.options.heads / cell.lengthOf("x", -2)));
      return [[...cell.index.slice(0, -2), group, cell.column]];
    },
  },
  work: (cell) => [cell.unchanged("x")],
});

/* Features, and then those of another array, which all heads may share, [… h n d] and [… 1 n r] to [… h n d+r]. */
defineFunction("join_features", {
  compute: ({ x, shared }) => concatenated(x, broadcastTo(shared, [...x.shape.slice(0, -1), shared.shape.at(-1)]), -1),
  index: {
    x: (cell) => (isShared(cell) ? [] : [cell.index]),
    shared(cell, source) {
      if (!isShared(cell)) return [];
      const own = cell.index.slice(cell.index.length - source.axes.length, -1);
      const place = own.map((at, axis) => (cell.lengthOf("shared", axis) === 1 ? 0 : at));
      return [[...place, cell.column - cell.lengthOf("x", -1)]];
    },
  },
  work: (cell) => [cell.unchanged(isShared(cell) ? "shared" : "x")],
});

/** Whether a cell is among the features that follow each head's own. */
function isShared(cell) {
  return cell.column >= cell.lengthOf("x", -1);
}

/* The cached rows, then the new ones, [… p c] and [… k c] to [… p+k c]. */
defineFunction("concat_cache", {
  compute: ({ past, new: added }) => concatenated(past, added, -2),
  index: { past: (cell) => rowIn(cell, "past"), new: (cell) => rowIn(cell, "new") },
  work: (cell) => [cell.unchanged(rowIn(cell, "past").length > 0 ? "past" : "new")],
});

/** The cell of the cached or of the new rows that a cell is; none where it is of the others. */
function rowIn(cell, role) {
  const [row, cached] = [cell.index.at(-2), cell.lengthOf("past", -2)];
  if (row < cached !== (role === "past")) return [];
  return [[...cell.index.slice(0, -2), role === "past" ? row : row - cached, cell.column]];
}

/* The rows at some positions, [… q x] to [… n x]. */
defineFunction("select_rows", {
  compute({ x }, { at }) {
    const [rows, columns] = x.shape.slice(-2);
    const result = makeArray([...x.shape.slice(0, -2), at.length, columns]);
    for (let row = 0; row * columns < result.data.length; row++) {
      const from = Math.floor(row / at.length) * rows + at[row % at.length];
      result.data.set(x.data.subarray(from * columns, (from + 1) * columns), row * columns);
    }
    return result;
  },
  index: { x: (cell) => [[...cell.index.slice(0, -2), cell.options.at[cell.index.at(-2)], cell.column]] },
  work: (cell) => [cell.unchanged("x")],
});

/* A logit after the keys of every query, [… h n m] and [h] to [… h n m+1]. */
defineFunction("with_column", {
  compute: ({ scores, sink }, { heads = null }) =>
    concatenated(scores, broadcastTo(perHead(sink, heads), [...scores.shape.slice(0, -1), 1]), -1),
  index: {
    scores: (cell) => (isSink(cell) ? [] : [cell.index]),
    sink: (cell) => (isSink(cell) ? [[cell.lengthOf("sink", 0) === 1 ? 0 : cell.at.h]] : []),
  },
  work: (cell) => [cell.unchanged(isSink(cell) ? "sink" : "scores")],
});

/** Whether a cell is in the column after the keys. */
export function isSink(cell) {
  return cell.column === cell.lengthOf("scores", -1);
}

/* The last column is dropped, [… n m+1] to [… n m]. */
defineFunction("without_column", {
  compute: ({ weights }) => mapRows(weights, weights.shape.at(-1) - 1, (row) => row.slice(0, -1)),
  work: (cell) => [cell.unchanged("weights")],
});
