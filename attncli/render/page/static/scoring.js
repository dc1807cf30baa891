/* Parts of scores: unit vectors, distances, and the lines that they share. */

import { mapRowPairs, mapRows } from "./arrays.js";
import { absoluteOf, differenceOf, numberTerm, powerOf, productsOf, quotientOf, rootOf, sumOf } from "./terms.js";

/** Each row divided by its Euclidean norm; a row of zeros stays. */
export function unitRows(array) {
  return mapRows(array, array.shape.at(-1), (row) => {
    const largest = row.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    const scaled = row.map((x) => x / (largest === 0 ? 1 : largest));
    const norm = Math.sqrt(scaled.reduce((sum, x) => sum + x * x, 0));
    return scaled.map((x) => x / (norm === 0 ? 1 : norm));
  });
}

/** ‖q − k‖² of each pair of rows, [… n d] and [… m d] to [… n m]. */
export function squaredDistances(query, key) {
  return mapRowPairs(query, key, (x, y) => (x - y) ** 2);
}

/** ‖q − k‖₁ of each pair of rows, [… n d] and [… m d] to [… n m]. */
export function absoluteDistances(query, key) {
  return mapRowPairs(query, key, (x, y) => Math.abs(x - y));
}

/** `Q(cat)`, of a role with an axis of a letter. */
export function vectorName(cell, role, letter) {
  return `${cell.symbol(role)}(${cell.label(letter)})`;
}

/** The line `Q(cat)·K(sat) = … = …`, of a dot product. */
export function dotProductLine(cell, product) {
  const name = `${vectorName(cell, "query", "n")}·${vectorName(cell, "key", "m")}`;
  return cell.equation(productsOf(cell.terms("query"), cell.terms("key")), name, product);
}

/** The line `‖Q(cat) − K(sat)‖² = (…)² + … = …`. */
export function squaredDistanceLine(cell, squared) {
  const squares = featureDifferences(cell).map((difference) => powerOf(difference, numberTerm(2)));
  return cell.equation(sumOf(squares), `‖${differenceName(cell)}‖²`, squared);
}

/** The line `‖Q(cat) − K(sat)‖₁ = |…| + … = …`. */
export function absoluteDistanceLine(cell, distance) {
  return cell.equation(sumOf(featureDifferences(cell).map(absoluteOf)), `‖${differenceName(cell)}‖₁`, distance);
}

/** The definition of a squared distance as an inner quantity. */
export const SQUARED_DISTANCES = { work: (cell) => [squaredDistanceLine(cell, cell.number)] };

/** The lines of one entry of a unit vector: the norm, and the division by it. */
export function unitVectorLines(cell, role, name, column) {
  const vector = cell.terms(role);
  if (vector.every((x) => x.value(null) === 0)) return [["a zero vector stays zero"]];
  const norm = cell.computed(`‖${name}‖`, rootOf(productsOf(vector, vector)));
  return [norm.line, cell.equation(quotientOf(vector[column], norm))];
}

/** The difference of each feature. */
function featureDifferences(cell) {
  const keys = cell.terms("key");
  return cell.terms("query").map((x, at) => differenceOf(x, keys[at]));
}

/** `Q(cat) − K(sat)`. */
function differenceName(cell) {
  return `${vectorName(cell, "query", "n")} − ${vectorName(cell, "key", "m")}`;
}
