/* Masks: which keys a query sees, and the tables that the user gives of it. */

import { workedLines } from "../arithmetic.js";
import { makeArray, mapNumbers, mapPairs, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { differenceOf, numberTerm, parameterTerm, quotientOf } from "../terms.js";

/**
 * The cells of a table [… q t] or [… 1 t] for the queries and keys of some indices, [… n m]; `fill` stands in the
 * columns that it lacks.
 */
function tableCells(table, queryRows, keyPositions, fill) {
  const [rows, columns] = table.shape.slice(-2);
  const [queries, keys] = [queryRows.data, keyPositions.data];
  const result = makeArray([...table.shape.slice(0, -2), queries.length, keys.length]);
  const size = queries.length * keys.length;
  for (let at = 0; at < result.data.length; at++) {
    const [matrix, cell] = [Math.floor(at / size), at % size];
    const row = rows === 1 ? 0 : queries[Math.floor(cell / keys.length)];
    const column = keys[cell % keys.length];
    result.data[at] = column < columns ? table.data[(matrix * rows + row) * columns + column] : fill;
  }
  return result;
}

/** The cell of a table that a cell for a query and a key reads: none where the table lacks the column. */
function tableIndex(cell, source) {
  const [rows, columns] = source.axes.slice(-2).map((_, at) => cell.lengthOf("table", at - 2));
  const row = rows === 1 ? 0 : cell.term("query_rows").value(null);
  const column = cell.term("key_positions").value(null);
  if (column >= columns) return [];
  const isOne = (axis) => cell.lengthOf("table", axis) === 1;
  const leading = source.axes.slice(0, -2).map((letter, axis) => (isOne(axis) ? 0 : cell.at[letter]));
  return [[...leading, row, column]];
}

/** `visible` or `hidden`, the end of the line on a cell of a mask. */
export function verdict(cell) {
  return cell.number === 0 ? "hidden" : "visible";
}

/* The user's own table of true and false; columns that it lacks are hidden. */
defineFunction("mask", {
  compute: ({ table, query_rows: rows, key_positions: keys }) =>
    mapNumbers(tableCells(table, rows, keys, 0), (x) => Number(x !== 0)),
  index: { table: tableIndex },
  work(cell) {
    const name = `the mask of (${cell.label("n")}, ${cell.label("m")}) is `;
    return [cell.sentence(name, cell.term("table") ?? "0", `: ${verdict(cell)}`)];
  },
});

/* A bias of minus infinity hides its key; columns that the bias lacks are hidden. */
defineFunction("bias", {
  compute: ({ table, query_rows: rows, key_positions: keys }) =>
    mapNumbers(tableCells(table, rows, keys, -Infinity), (x) => Number(x !== -Infinity)),
  index: { table: tableIndex },
  work(cell) {
    const name = `the bias of (${cell.label("n")}, ${cell.label("m")}) is `;
    return [cell.sentence(name, cell.term("table") ?? "−∞", `: ${verdict(cell)}`)];
  },
});

/* No query attends to a key after its own position. */
defineFunction("causal", {
  compute: ({ query_positions: positions, key_positions: keys }) =>
    mapPairs(withAxis(positions, -1), keys, (position, key) => Number(key <= position)),
  work(cell) {
    const [key, position] = [cell.term("key_positions"), cell.term("query_positions")];
    const sign = cell.number === 0 ? ">" : "≤";
    return [cell.sentence("key ", key, ` ${sign} position `, position, ` of ${cell.label("n")}: ${verdict(cell)}`)];
  },
});

/* Only so many keys to the left and to the right of the query's position are visible. */
defineFunction("window", {
  compute({ query_positions: positions, key_positions: keys }, options) {
    const { left, right } = windowSides(options);
    const isVisible = (position, key) => Number(key >= position - left && key <= position + right);
    return mapPairs(withAxis(positions, -1), keys, isVisible);
  },
  work(cell) {
    const { left, right } = windowSides(cell.options);
    const position = cell.term("query_positions").value(null);
    const range = `from ${cell.write(position - left)} to ${cell.write(position + right)}`;
    const key = cell.term("key_positions");
    return [cell.sentence(`the window of ${cell.label("n")} goes ${range}; key `, key, `: ${verdict(cell)}`)];
  },
});

/** How many keys on either side; JSON has infinity as a text. */
function windowSides({ left, right }) {
  return { left: Number(left), right: Number(right) };
}

/* Of packed sequences a query sees the keys of its own. */
defineFunction("cu_seqlens", {
  compute: ({ query_sequences: queries, key_sequences: keys }) =>
    mapPairs(withAxis(queries, -1), keys, (query, key) => Number(query === key)),
  work(cell) {
    const [query, key] = [cell.term("query_sequences"), cell.term("key_sequences")];
    return [
      cell.sentence(`${cell.label("n")} is in sequence `, query, `, ${cell.label("m")} in `, key, `: ${verdict(cell)}`),
    ];
  },
});

/* The sequence is cut into chunks of one size, and a query sees the keys of its own chunk. */
defineFunction("chunked", {
  compute: (inputs, { size }) => mapPairs(...chunksOfPairs(inputs, size), (query, key) => Number(query === key)),
  work(cell) {
    const { lines, numbers } = chunkLines(cell, "chunk");
    const relation = numbers[0] === numbers[1] ? "the same" : "another";
    return [...lines, cell.sentence(`${keyName(cell)} is in ${relation} chunk: ${verdict(cell)}`)];
  },
});

/** The lines on the chunks of the query and the key of a cell, which are called by a noun, and the numbers of these. */
export function chunkLines(cell, noun) {
  const { size } = cell.options;
  const start = cell.has("real_key_starts") ? cell.term("real_key_starts") : numberTerm(0);
  const first = start.value(null);
  const numbers = [];
  const lines = [["query_positions", cell.label("n")], ["key_positions", keyName(cell)]].map(([role, name]) => {
    const index = cell.term(role);
    const chunk = chunkOf(index.value(null), first, size);
    numbers.push(chunk);
    const quotient = quotientOf(first === 0 ? index : differenceOf(index, start), parameterTerm(size));
    const isRounded = chunk * size !== index.value(null) - first;
    const rounded = isRounded ? `, rounded down ${cell.write(chunk)}` : "";
    return [`${noun} of ${name}: `, ...cell.equation(quotient, "", quotient.value(null)), rounded];
  });
  return { lines, numbers };
}

/** The chunks of queries and keys, [… n 1] and [… 1 m], counted from the first real key. */
export function chunksOfPairs({ query_positions: positions, key_positions: keys, real_key_starts: starts }, size) {
  const first = withAxis(starts ?? makeArray([], [0]), -1);
  const chunksOf = (indices) => mapPairs(indices, first, (index, start) => chunkOf(index, start, size));
  return [withAxis(chunksOf(positions), -1), withAxis(chunksOf(keys), -2)];
}

/** The key of a cell by its index. */
export function keyName(cell) {
  return `key ${cell.term("key_positions").value(null)}`;
}

/** The number of the chunk that an index is in, counted from that of the first real key. */
function chunkOf(index, start, size) {
  return Math.floor((index - start) / size);
}

/* Keys whose mask is 0 are padding, for every query. */
defineFunction("key_mask", {
  compute: ({ key_mask: mask }) => withAxis(mapNumbers(mask, (x) => Number(x !== 0)), -2),
  work(cell) {
    return [cell.sentence(`the key mask of ${cell.label("m")} is `, cell.term("key_mask"), `: ${verdict(cell)}`)];
  },
});

/* Keys beyond the length of their batch item are padding. */
defineFunction("key_lengths", {
  compute: ({ key_positions: keys, key_lengths: lengths }) =>
    mapPairs(keys, withAxis(withAxis(lengths, -1), -1), (key, length) => Number(key < length)),
  work(cell) {
    const sign = cell.number === 0 ? "≥" : "<";
    const [key, length] = [cell.term("key_positions"), cell.term("key_lengths")];
    return [cell.sentence("key ", key, ` ${sign} `, length, ` real keys: ${verdict(cell)}`)];
  },
});

/* Keys beyond the length of their query are hidden. */
defineFunction("query_key_lengths", {
  compute: ({ key_positions: keys, query_key_lengths: lengths }) =>
    mapPairs(keys, withAxis(lengths, -1), (key, length) => Number(key < length)),
  work(cell) {
    const sign = cell.number === 0 ? "≥" : "<";
    const [key, length] = [cell.term("key_positions"), cell.term("query_key_lengths")];
    return [cell.sentence("key ", key, ` ${sign} `, length, ` keys of this query: ${verdict(cell)}`)];
  },
});

/* True where every rule is. */
defineFunction("and_masks", {
  compute: (rules) => Object.values(rules).reduce((left, right) => mapPairs(left, right, (x, y) => x * y)),
  work: linesOfRules,
});

/* True where any rule is. */
defineFunction("or_masks", {
  compute: (rules) => Object.values(rules).reduce((left, right) => mapPairs(left, right, Math.max)),
  work: (cell) => [...linesOfRules(cell), [`one of ${cell.roles.join(", ")}: ${verdict(cell)}`]],
});

/* True where the rule is false. */
defineFunction("not_mask", {
  compute: (rules) => mapNumbers(Object.values(rules)[0], (x) => 1 - x),
  work: (cell) => [...linesOfRules(cell), [`not ${cell.roles.join(", ")}: ${verdict(cell)}`]],
});

/** The lines of the rules that a cell combines. */
function linesOfRules(cell) {
  return cell.roles.flatMap((role) => workedLines(cell.cellOf(role)));
}

/* The scores, −∞ where they are not visible. */
defineFunction("apply_mask", {
  compute: ({ scores, visible }) =>
    mapPairs(scores, visible, (score, isVisible) => (isVisible === 0 ? -Infinity : score)),
  work(cell) {
    if (cell.term("visible").value(null) !== 0) return [cell.unchanged("scores")];
    const visible = cell.cellOf("visible");
    const rules = visible.roles.map(visible.cellOf).filter((rule) => rule.number === 0);
    return [["hidden: −∞ instead of the score"], ...rules.flatMap(workedLines)];
  },
});
