/* The sequence is cut into chunks of one size, and a query sees the keys of its own chunk. */

import { makeArray, mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { verdict } from "../tables.js";
import { differenceOf, numberTerm, parameterTerm, quotientOf } from "../terms.js";

defineFunction("chunked", {
  compute(inputs, { size }) {
    const { query_positions: positions, key_positions: keys, real_key_starts: starts = makeArray([], [0]) } = inputs;
    const chunksOf = (indices) => mapPairs(indices, withAxis(starts, -1), (index, start) => chunkOf(index, start, size));
    const [queryChunks, keyChunks] = [chunksOf(positions), chunksOf(keys)];
    return mapPairs(withAxis(queryChunks, -1), withAxis(keyChunks, -2), (query, key) => Number(query === key));
  },
  work(cell) {
    const { size } = cell.options;
    const start = cell.has("real_key_starts") ? cell.term("real_key_starts") : numberTerm(0);
    const first = start.value(null);
    const chunks = new Set();
    const lines = [["query_positions", cell.label("n")], ["key_positions", keyName(cell)]].map(([role, name]) => {
      const index = cell.term(role);
      const chunk = chunkOf(index.value(null), first, size);
      chunks.add(chunk);
      const quotient = quotientOf(first === 0 ? index : differenceOf(index, start), parameterTerm(size));
      const isRounded = chunk * size !== index.value(null) - first;
      const rounded = isRounded ? `, rounded down ${cell.write(chunk)}` : "";
      return [`chunk of ${name}: `, ...cell.equation(quotient, "", quotient.value(null)), rounded];
    });
    const relation = chunks.size === 1 ? "the same" : "another";
    return [...lines, cell.sentence(`${keyName(cell)} is in ${relation} chunk: ${verdict(cell)}`)];
  },
});

/** The key of a cell by its index. */
function keyName(cell) {
  return `key ${cell.term("key_positions").value(null)}`;
}

/** The number of the chunk that an index is in, counted from that of the first real key. */
function chunkOf(index, start, size) {
  return Math.floor((index - start) / size);
}
