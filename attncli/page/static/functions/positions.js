/* Rotations of pairs of features, whose angles read better by hand. */

import { mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  cosOf, differenceOf, negativeOf, numberTerm, parameterTerm, powerOf, productOf, quotientOf, sinOf, sumOf,
} from "../terms.js";

/* Rotates pairs of features in proportion to the position. */
defineFunction("rope", rotation("x", 1));

/* The gradient of the vectors: turned back, and multiplied by the same factor. */
defineFunction("rope_x", rotation("grad", -1));

/** The definition of a rotation of the vectors of a role, in the direction of the angles (1) or the other way (−1). */
function rotation(role, way) {
  const directionOf = ({ reverse }) => (reverse ? -way : way);
  return {
    compute: (inputs, options) => rotatedRows(inputs[role], inputs, options, directionOf(options)),
    index: {
      [role](cell) {
        const pair = pairOf(cell, role);
        const features = pair === null ? [cell.column] : pairFeatures(cell.options, pairCount(cell, role), pair);
        return features.map((feature) => [...cell.index.slice(0, -1), feature]);
      },
      positions: (cell, source) => rotationAxes(cell).map((s) => source.axes.map((letter, axis) => (letter === "s" ? s : rowPosition(cell, letter, axis)))),
      frequencies(cell) {
        const pair = pairOf(cell, role);
        return pair === null ? [] : rotationAxes(cell).map((s) => (hasRotationAxes(cell) ? [s, pair] : [pair]));
      },
      attention_factor: (cell) => (pairOf(cell, role) === null ? [] : [[]]),
    },
    work: (cell) => rotationLines(cell, role, directionOf(cell.options)),
  };
}

/** Each row with its pairs of features turned by the angles of its position. */
function rotatedRows(vectors, { positions, frequencies, attention_factor: factors }, options, direction) {
  const features = vectors.shape.at(-1);
  const axes = frequencies?.shape.length > 1 ? frequencies.shape[0] : 1;
  const turned = frequencies === undefined ? rotatedFrequencies(options, features) : frequencies.data;
  const count = turned.length / axes;
  const { scaling = 1, offset = 0 } = options;
  const factor = factors === undefined ? (options.attention_factor ?? 1) : factors.data[0];
  const rotate = (row, ...at) => {
    const rotated = row.slice();
    for (let pair = 0; pair < count; pair++) {
      let angle = 0;
      at.forEach((position, axis) => (angle += ((position + offset) / scaling) * turned[axis * count + pair]));
      const [one, other] = pairFeatures(options, count, pair);
      const [cosine, sine] = [factor * Math.cos(angle), direction * factor * Math.sin(angle)];
      rotated[one] = row[one] * cosine - row[other] * sine;
      rotated[other] = row[other] * cosine + row[one] * sine;
    }
    return rotated;
  };
  return mapRows(vectors, features, rotate, ...positionsOfAxes(positions, frequencies));
}

/** The angle of the pair of a cell, and one of its two numbers after the turn. */
function rotationLines(cell, role, direction) {
  const pair = pairOf(cell, role);
  if (pair === null) return [cell.sentence("a feature that does not turn: ", cell.term(role))];
  const [first, second] = cell.terms(role);
  const products = rotationAxes(cell).map((s) => productOf(positionTerm(cell, s), frequencyTerm(cell, pair, s, role)));
  const angle = cell.computed(`angle of pair ${pair}`, products.length > 1 ? sumOf(products) : products[0]);
  const [cosine, sine] = [cosOf(angle), sinOf(angle)];
  const isFirst = pairFeatures(cell.options, pairCount(cell, role), pair)[0] === cell.column;
  const parts = isFirst
    ? [productOf(first, cosine), productOf(second, sine)]
    : [productOf(second, cosine), productOf(first, sine)];
  const turned = isFirst === direction > 0 ? differenceOf(...parts) : sumOf(parts);
  const factor = attentionFactorTerm(cell);
  const name = role === "grad" ? cell.name : "";
  return [angle.line, cell.equation(factor === null ? turned : productOf(factor, turned), name)];
}

/** Whether positions have several axes, each with frequencies of its own. */
function hasRotationAxes(cell) {
  return cell.has("frequencies") && cell.lengthOf("frequencies", 1) !== undefined;
}

/** The numbers of the axes of positions. */
function rotationAxes(cell) {
  return hasRotationAxes(cell) ? Array.from({ length: cell.lengthOf("frequencies", 0) }, (_, axis) => axis) : [0];
}

/** The positions on each axis, arrays without it: [… s n] to s times [… n]. */
function positionsOfAxes(positions, frequencies) {
  if (frequencies === undefined || frequencies.shape.length === 1) return [positions];
  const [count, rows] = positions.shape.slice(-2);
  const shape = [...positions.shape.slice(0, -2), rows];
  return Array.from({ length: count }, (_, axis) => {
    const data = positions.data.filter((_number, at) => Math.floor(at / rows) % count === axis);
    return { ...positions, shape, data };
  });
}

/** The angle of each pair from one position to the next. */
function rotatedFrequencies({ base = 10000, dims }, features) {
  const count = dims ?? features;
  return Array.from({ length: count / 2 }, (_, pair) => base ** -((2 * pair) / count));
}

/** The two features of a pair of `count`: neighbours, or one in each half. */
function pairFeatures({ interleaved }, count, pair) {
  return interleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + count];
}

/** How many pairs turn. */
function pairCount(cell, role) {
  return cell.has("frequencies") ? cell.lengthOf("frequencies", -1) : (cell.options.dims ?? cell.lengthOf(role, -1)) / 2;
}

/** The pair that the feature of a cell is in; null where it does not turn. */
function pairOf(cell, role) {
  const count = pairCount(cell, role);
  if (cell.column >= 2 * count) return null;
  return cell.options.interleaved ? Math.floor(cell.column / 2) : cell.column % count;
}

/** The position of the row of a cell on an axis of the positions, whose last axis is that of rows. */
function rowPosition(cell, letter, axis) {
  if (cell.lengthOf("positions", axis) === 1) return 0;
  return letter in cell.at ? cell.at[letter] : cell.index.at(-2);
}

/** The position with what is added to it, over the scaling. */
function positionTerm(cell, axis) {
  const { scaling = 1, offset = 0 } = cell.options;
  const given = cell.terms("positions")[axis];
  const position = offset === 0 ? given : sumOf([given, parameterTerm(offset)]);
  return scaling === 1 ? position : quotientOf(position, parameterTerm(scaling));
}

/** What cosines and sines are multiplied by; null where there is no attention factor. */
function attentionFactorTerm(cell) {
  if (cell.has("attention_factor")) return cell.term("attention_factor");
  const factor = cell.options.attention_factor ?? null;
  return factor === null ? null : parameterTerm(factor);
}

/** The angle of a pair from one position to the next, from the base or as it is given. */
function frequencyTerm(cell, pair, axis, role) {
  if (cell.has("frequencies")) return cell.terms("frequencies")[axis];
  const exponent = negativeOf(quotientOf(numberTerm(2 * pair), numberTerm(2 * pairCount(cell, role))));
  return powerOf(parameterTerm(cell.options.base ?? 10000), exponent);
}
