/* Rotates pairs of features in proportion to the position. */

import { mapRows } from "../arrays.js";
import { defineFunction } from "../functions.js";
import { cosOf, differenceOf, negativeOf, numberTerm, parameterTerm } from "../terms.js";
import { powerOf, productOf, quotientOf, sinOf, sumOf } from "../terms.js";

defineFunction("rope", {
  compute({ x, positions, frequencies }, options) {
    const features = x.shape.at(-1);
    const turned = frequencies === undefined ? rotatedFrequencies(options, features) : frequencies.data;
    const { scaling = 1, offset = 0 } = options;
    const rotate = (row, position) => {
      const rotated = row.slice();
      turned.forEach((frequency, pair) => {
        const angle = ((position + offset) / scaling) * frequency;
        const [one, other] = pairFeatures(options, turned.length, pair);
        rotated[one] = row[one] * Math.cos(angle) - row[other] * Math.sin(angle);
        rotated[other] = row[other] * Math.cos(angle) + row[one] * Math.sin(angle);
      });
      return rotated;
    };
    return mapRows(x, features, rotate, positions);
  },
  index: {
    x(cell) {
      const pair = pairOf(cell);
      const features = pair === null ? [cell.column] : pairFeatures(cell.options, pairCount(cell), pair);
      return features.map((feature) => [...cell.index.slice(0, -1), feature]);
    },
    positions: (cell, source) => [source.axes.map((letter, axis) => rowPosition(cell, letter, axis))],
    frequencies: (cell) => (pairOf(cell) === null ? [] : [[pairOf(cell)]]),
  },
  work(cell) {
    const pair = pairOf(cell);
    if (pair === null) return [cell.sentence("a feature that does not turn: ", cell.term("x"))];
    const [first, second] = cell.terms("x");
    const angle = cell.computed(`angle of pair ${pair}`, productOf(positionTerm(cell), frequencyTerm(cell, pair)));
    const [cosine, sine] = [cosOf(angle), sinOf(angle)];
    const isFirst = pairFeatures(cell.options, pairCount(cell), pair)[0] === cell.column;
    const turned = isFirst
      ? differenceOf(productOf(first, cosine), productOf(second, sine))
      : sumOf([productOf(second, cosine), productOf(first, sine)]);
    return [angle.line, cell.equation(turned)];
  },
});

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
function pairCount(cell) {
  return cell.has("frequencies") ? cell.lengthOf("frequencies", 0) : (cell.options.dims ?? cell.lengthOf("x", -1)) / 2;
}

/** The pair that the feature of a cell is in; null where it does not turn. */
function pairOf(cell) {
  const count = pairCount(cell);
  if (cell.column >= 2 * count) return null;
  return cell.options.interleaved ? Math.floor(cell.column / 2) : cell.column % count;
}

/** The position of the row of a cell on an axis of the positions, whose last axis is that of rows. */
function rowPosition(cell, letter, axis) {
  if (cell.lengthOf("positions", axis) === 1) return 0;
  return letter in cell.at ? cell.at[letter] : cell.index.at(-2);
}

/** The position with what is added to it, over the scaling. */
function positionTerm(cell) {
  const { scaling = 1, offset = 0 } = cell.options;
  const position = offset === 0 ? cell.term("positions") : sumOf([cell.term("positions"), parameterTerm(offset)]);
  return scaling === 1 ? position : quotientOf(position, parameterTerm(scaling));
}

/** The angle of a pair from one position to the next, from the base or as it is given. */
function frequencyTerm(cell, pair) {
  if (cell.has("frequencies")) return cell.term("frequencies");
  const exponent = negativeOf(quotientOf(numberTerm(2 * pair), numberTerm(2 * pairCount(cell))));
  return powerOf(parameterTerm(cell.options.base ?? 10000), exponent);
}
