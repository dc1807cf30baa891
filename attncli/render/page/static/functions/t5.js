/* A learned number for each head and each range of distances; far distances share one. */

import { makeArray, mapPairs, perHead, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";

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
