/* Masks that are patterns: a prefix, blocks and their neighbors, every so many keys, global tokens, documents. */

import { makeArray, mapNumbers, mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { chunkLines, chunksOfPairs, keyName, verdict } from "./masks.js";

const NO_DOCUMENT = -1; // that of a position beyond the keys

/* Every query sees the first keys. */
defineFunction("prefix", {
  compute: ({ key_positions: keys }, { size }) => withAxis(mapNumbers(keys, (key) => Number(key < size)), -2),
  work(cell) {
    const sign = cell.number === 0 ? "≥" : "<";
    const key = cell.term("key_positions");
    return [cell.sentence("key ", key, ` ${sign} the prefix of ${cell.options.size}: ${verdict(cell)}`)];
  },
});

/* A query sees the keys of its own block and of some blocks on either side. */
defineFunction("block", {
  compute: (inputs, { size, around }) =>
    mapPairs(...chunksOfPairs(inputs, size), (query, key) => Number(Math.abs(query - key) <= around)),
  work(cell) {
    const { lines, numbers } = chunkLines(cell, "block");
    const distance = Math.abs(numbers[0] - numbers[1]);
    const relation = distance === 0 ? "in the same block" : `${countOf(distance, "block")} away`;
    return [...lines, cell.sentence(`${keyName(cell)} is ${relation}: ${verdict(cell)}`)];
  },
});

/* A query sees its own key and every so many keys before and after it. */
defineFunction("dilated", {
  compute: ({ query_positions: positions, key_positions: keys }, { step }) =>
    mapPairs(withAxis(positions, -1), keys, (position, key) => Number((position - key) % step === 0)),
  work(cell) {
    const { step } = cell.options;
    const [position, key] = [cell.term("query_positions"), cell.term("key_positions")];
    const distance = Math.abs(position.value(null) - key.value(null));
    const rest = distance % step === 0 ? "" : ` and ${distance % step}`;
    const steps = `${countOf(Math.floor(distance / step), "step")} of ${step}${rest}`;
    const ends = ["from position ", position, ` of ${cell.label("n")} to key `, key];
    return [cell.sentence(...ends, `: ${distance}, ${steps}: ${verdict(cell)}`)];
  },
});

/* Some tokens see every key and are seen by every query. */
defineFunction("global", {
  compute({ query_positions: positions, key_positions: keys, tokens }) {
    const areGlobal = (indices) => mapNumbers(indices, (index) => Number(tokens.data.includes(index)));
    return mapPairs(withAxis(areGlobal(positions), -1), areGlobal(keys), Math.max);
  },
  index: { tokens: () => [[null]] },
  work(cell) {
    const tokens = cell.terms("tokens").map((token) => token.value(null));
    const [position, key] = ["query_positions", "key_positions"].map((role) => cell.term(role).value(null));
    const names = [[`position ${position} of ${cell.label("n")}`, position], [keyName(cell), key]];
    const found = names.filter(([, index]) => tokens.includes(index)).map(([name]) => name);
    const none = `neither ${names[0][0]} nor ${names[1][0]} is global`;
    return [cell.sentence(`${found.length > 0 ? `global: ${found.join(", ")}` : none}: ${verdict(cell)}`)];
  },
});

/* A query sees the keys of its own document. */
defineFunction("document", {
  compute: ({ query_positions: positions, key_positions: keys, ids, lengths }) =>
    documentLists(ids?.data, lengths?.data)
      .map((documents) => {
        const documentsOf = (indices) => mapNumbers(indices, (index) => documents[index] ?? NO_DOCUMENT);
        return mapPairs(withAxis(documentsOf(positions), -1), documentsOf(keys), (own, other) => Number(own === other));
      })
      .reduce((left, right) => mapPairs(left, right, Math.min), makeArray([1, 1], Float64Array.of(1))),
  index: { ids: () => [[null]], lengths: () => [[null]] },
  work(cell) {
    const numbersOf = (role) => (cell.has(role) ? cell.terms(role).map((term) => term.value(null)) : undefined);
    const [position, key] = ["query_positions", "key_positions"].map((role) => cell.term(role).value(null));
    const lines = documentLists(numbersOf("ids"), numbersOf("lengths")).map((documents) => {
      const own = documents[position] === undefined ? "no document" : `document ${documents[position]}`;
      return `${cell.label("n")} is in ${own}, ${cell.label("m")} in ${documents[key]}`;
    });
    return [cell.sentence(`${lines.join("; ")}: ${verdict(cell)}`)];
  },
});

/** The document of each key, by their ids and by the lengths of documents, as far as these are given. */
function documentLists(ids, lengths) {
  const byLengths = lengths && [Array.from(lengths).flatMap((length, number) => Array(length).fill(number))];
  return [...(ids ? [Array.from(ids)] : []), ...(byLengths ?? [])];
}

/** A number and a noun. */
function countOf(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
