/* Biases: numbers that are added to scores. */

import { makeArray, mapPairs, perHead, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { absoluteOf, differenceOf, negativeOf, numberTerm, productOf, sumOf } from "../terms.js";
import { tableCells, tableIndex } from "./masks.js";

/* The scores and the user's own numbers; where those are −∞ nothing is added. */
defineFunction("add_bias", {
  compute({ scores, table, query_rows: rows, key_positions: keys }) {
    return mapPairs(scores, tableCells(table, rows, keys, 0), (score, bias) => score + (bias === -Infinity ? 0 : bias));
  },
  index: { table: tableIndex },
  work(cell) {
    const bias = cell.term("table");
    const isAdded = bias !== undefined && bias.value(null) !== -Infinity;
    return [cell.equation(sumOf([cell.term("scores"), isAdded ? bias : numberTerm(0)]))];
  },
});

/* The farther a key, the lower its score; each head has a slope of its own. */
defineFunction("alibi", {
  compute({ query_positions: positions, key_positions: keys, slopes }, { heads = null }) {
    const distances = mapPairs(withAxis(positions, -1), keys, (position, key) => Math.abs(position - key));
    return mapPairs(perHead(slopes, heads), distances, (slope, distance) => -(slope * distance));
  },
  work(cell) {
    const distance = absoluteOf(differenceOf(cell.term("query_positions"), cell.term("key_positions")));
    return [cell.equation(negativeOf(productOf(cell.term("slopes"), distance)))];
  },
});

/* A learned number for each head and each range of distances; far distances share one. */
defineFunction("t5", {
  compute({ query_positions: positions, key_positions: keys, table }, { heads = null, ...options }) {
    const [rows, columns] = table.shape;
    const begins = bucketBegins(rows, options);
    const bucketAt = (position, key) => distanceBucket(key - position, rows, begins, options);
    const buckets = mapPairs(withAxis(positions, -1), keys, bucketAt);
    const each = makeArray([columns], Float64Array.from({ length: columns }, (_, head) => head));
    return mapPairs(buckets, perHead(each, heads), (bucket, head) => table.data[bucket * columns + head]);
  },
  index: { table: (cell) => [[bucketOf(cell), cell.at.h ?? 0]] },
  work(cell) {
    const distance = cell.term("key_positions").value(null) - cell.term("query_positions").value(null);
    const bucket = `distance ${cell.write(distance)}: bucket ${bucketOf(cell)}, whose number is `;
    return [cell.sentence(bucket, cell.term("table"))];
  },
});

/** The bucket of the distance of a cell. */
function bucketOf(cell) {
  const rows = cell.lengthOf("table", 0);
  const distance = cell.term("key_positions").value(null) - cell.term("query_positions").value(null);
  return distanceBucket(distance, rows, bucketBegins(rows, cell.options), cell.options);
}

/** How many of the buckets are for one direction, and how many of those for one distance each. */
function bucketCounts(rows, { bidirectional = true }) {
  const half = bidirectional ? Math.floor(rows / 2) : rows;
  return { half, exact: Math.floor(half / 2) };
}

/** The distances at which the wider buckets begin: whole numbers, so that nothing is rounded. */
function bucketBegins(rows, options) {
  const { half, exact } = bucketCounts(rows, options);
  const wide = BigInt(half - exact);
  const [first, last] = [BigInt(exact), BigInt(options.max_distance ?? 128)];
  const begins = [];
  for (let at = 1n, distance = first; at < wide; at++) {
    while (distance ** wide < first ** (wide - at) * last ** at) distance++;
    begins.push(Number(distance));
  }
  return begins;
}

/** Which bucket a distance falls into: one each for near ones, logarithmically wider ones up to the last. */
function distanceBucket(distance, rows, begins, options) {
  const { half, exact } = bucketCounts(rows, options);
  const { bidirectional = true } = options;
  const away = bidirectional ? Math.abs(distance) : Math.max(-distance, 0);
  const near = away < exact ? away : exact + begins.filter((begin) => begin <= away).length;
  return near + (bidirectional && distance > 0 ? half : 0);
}

/* A learned number for each head and each difference of rows and columns in a grid of tokens. */
defineFunction("grid_bias", {
  compute({ query_positions: positions, key_positions: keys, table }, { heads = null, ...options }) {
    const columns = table.shape[1];
    const rows = mapPairs(withAxis(positions, -1), keys, (position, key) => gridRow(position, key, options));
    const each = makeArray([columns], Float64Array.from({ length: columns }, (_, head) => head));
    return mapPairs(rows, perHead(each, heads), (row, head) => table.data[row * columns + head]);
  },
  index: { table: (cell) => [[gridRowOf(cell), cell.at.h ?? 0]] },
  work: (cell) => [cell.sentence(`row ${gridRowOf(cell)} of the table: `, cell.term("table"))],
});

/** The row of the table of a cell. */
function gridRowOf(cell) {
  const [position, key] = ["query_positions", "key_positions"].map((role) => cell.term(role).value(null));
  return gridRow(position, key, cell.options);
}

/** The row of the table for the position of a query and the index of a key. */
function gridRow(position, key, { height, width = height, class_token: hasClass = false }) {
  const classes = (2 * height - 1) * (2 * width - 1); // the first row of the class token
  if (hasClass && (position <= 0 || key === 0)) return classes + (position > 0 ? 1 : key === 0 ? 2 : 0);
  const cellOf = (at) => {
    const inGrid = at - Number(hasClass);
    return [Math.floor(inGrid / width), inGrid - Math.floor(inGrid / width) * width];
  };
  const [rows, columns] = cellOf(position).map((at, axis) => at - cellOf(key)[axis]);
  const row = (rows + height - 1) * (2 * width - 1) + columns + width - 1;
  return Math.min(Math.max(row, 0), classes + (hasClass ? 2 : -1)); // a query before the first key is in no cell
}
