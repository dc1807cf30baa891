/* Position schemes that add to dot products vectors of distances: Transformer-XL's and DeBERTa's. */

import { dotProducts, exchangedAxes, makeArray, mapPairs, matrixProduct, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { productsOf, sumOf } from "../terms.js";

/** The rows of a table [r x] as vectors of each head: times [x d], plus [d]. */
function projectedRows(table, weights, bias) {
  const rows = weights === undefined ? table : matrixProduct(table, weights);
  return bias === undefined ? rows : mapPairs(rows, withAxis(bias, -2), (x, y) => x + y);
}

/** The row of a table for each position of a query and a key [… n m]. */
function rowsOfPairs(positions, keys, rowOf) {
  return mapPairs(withAxis(positions, -1), keys, rowOf);
}

/** The dot products of vectors [… n d] with one row of a table [… r d] for each pair [… n m]. */
function productsWithRows(vectors, table, rows) {
  const products = dotProducts(vectors, table);
  const count = products.shape.at(-1);
  const shared = mapPairs(rows, makeArray([...products.shape.slice(0, -1), 1]), (row) => row);
  const keys = shared.shape.at(-1);
  const found = Float64Array.from(shared.data, (row, at) => products.data[Math.floor(at / keys) * count + row]);
  return makeArray(shared.shape, found);
}

/** The row of a distance i − j in Transformer-XL's table, whose middle is distance 0. */
function rowOfDistance(distance, rows) {
  return Math.min(Math.max(Math.floor(rows / 2) - distance, 0), rows - 1);
}

/** The row of a distance i − j in DeBERTa's table: of a bucket, where they are wider for farther keys. */
function rowOfBucket(distance, rows, { max_distance: farthest }) {
  const exact = Math.floor(rows / 4);
  const away = Math.abs(distance);
  let bucket = distance;
  if (farthest !== undefined && farthest !== null && away > exact) {
    const steps = (Math.log(away / exact) / Math.log((farthest - 1) / exact)) * (exact - 1);
    bucket = Math.sign(distance) * (exact + Math.ceil(steps - 1e-9));
  }
  return Math.min(Math.max(bucket + Math.floor(rows / 2), 0), rows - 1);
}

/** The cells of a table that the pair of a cell reads: every feature of one row. */
function rowRead(rowOf) {
  return (cell, source) => {
    const position = (role) => cell.term(role).value(null);
    const row = rowOf(position("query_positions") - position("key_positions"), cell.lengthOf("table", -2), cell.options);
    return [[...source.axes.slice(0, -2).map((letter) => cell.at[letter]), row, null]];
  };
}


/** The vector of a pair's distance as terms, and the lines of its numbers where weights or a bias make it. */
function vectorOfPair(cell, name, weights, bias) {
  const row = cell.terms("table");
  if (!cell.has(weights) && !cell.has(bias)) return { lines: [], terms: row };
  const matrix = cell.has(weights) ? cell.terms(weights) : null;
  const width = matrix === null ? row.length : matrix.length / row.length;
  const terms = Array.from({ length: width }, (_, column) => {
    const own = matrix === null ? row[column] : productsOf(row, matrix.filter((_, at) => at % width === column));
    const made = cell.has(bias) ? sumOf([own, cell.terms(bias)[column]]) : own;
    return cell.computed(`${name}[d${column + 1}]`, made);
  });
  return { lines: terms.map((term) => term.line), terms };
}

/** The lines of the terms of a score, by their names, and of their sum. */
function termLines(cell, found) {
  const terms = found.map(([name, product]) => cell.computed(name, product));
  return [...terms.map((term) => term.line), cell.equation(sumOf(terms))];
}

/* A key for each distance, and two learned vectors in place of queries. */
defineFunction("transformer_xl", {
  compute(inputs) {
    const { query, key, query_positions: positions, key_positions: keys, table } = inputs;
    const { w_position: weights, content_bias: u, position_bias: v } = inputs;
    const count = table.shape.at(-2);
    const asked = v === undefined ? query : mapPairs(query, withAxis(v, -2), (x, y) => x + y);
    const rows = rowsOfPairs(positions, keys, (position, at) => rowOfDistance(position - at, count));
    const scores = productsWithRows(asked, projectedRows(table, weights), rows);
    return u === undefined ? scores : mapPairs(scores, dotProducts(withAxis(u, -2), key), (x, y) => x + y);
  },
  index: { table: rowRead(rowOfDistance) },
  work(cell) {
    const vector = vectorOfPair(cell, "R", "w_position", "");
    const [asked, key] = [`${cell.symbol("query")}(${cell.label("n")})`, `${cell.symbol("key")}(${cell.label("m")})`];
    const found = [[`${asked}·R`, productsOf(cell.terms("query"), vector.terms)]];
    if (cell.has("content_bias")) found.push([`u·${key}`, productsOf(cell.terms("content_bias"), cell.terms("key"))]);
    if (cell.has("position_bias")) found.push(["v·R", productsOf(cell.terms("position_bias"), vector.terms)]);
    return [...vector.lines, ...termLines(cell, found)];
  },
});

/* A key and a query for each distance, or for each bucket of distances. */
defineFunction("disentangled", {
  compute(inputs, options) {
    const { query, key, query_positions: positions, key_positions: keys, table } = inputs;
    const { terms = "both" } = options;
    const count = table.shape.at(-2);
    const rows = rowsOfPairs(positions, keys, (position, at) => rowOfBucket(position - at, count, options));
    const found = [];
    if (terms !== "p2c") {
      const vectors = projectedRows(table, inputs.w_position_k, inputs.b_position_k);
      found.push(productsWithRows(query, vectors, rows));
    }
    if (terms !== "c2p") {
      const vectors = projectedRows(table, inputs.w_position_q, inputs.b_position_q);
      const transposed = rows.shape.length > 1 ? exchangedAxes(rows, -1, -2) : rows;
      found.push(exchangedAxes(productsWithRows(key, vectors, transposed), -1, -2));
    }
    return found.length > 1 ? mapPairs(...found, (x, y) => x + y) : found[0];
  },
  index: { table: rowRead(rowOfBucket) },
  work(cell) {
    const { terms = "both" } = cell.options;
    const lines = [];
    const found = [];
    const add = (role, letter, symbol, weights, bias) => {
      const vector = vectorOfPair(cell, symbol, weights, bias);
      lines.push(...vector.lines);
      const name = `${cell.symbol(role)}(${cell.label(letter)})·${symbol}`;
      found.push([name, productsOf(cell.terms(role), vector.terms)]);
    };
    if (terms !== "p2c") add("query", "n", "Kᴿ", "w_position_k", "b_position_k");
    if (terms !== "c2p") add("key", "m", "Qᴿ", "w_position_q", "b_position_q");
    return [...lines, ...termLines(cell, found)];
  },
});
