/* Scores: how well a query and a key fit. */

import {
  dotProducts, makeArray, mapNumbers, mapPairs, mapRowPairs, mapRows, matrixProduct, withAxis,
} from "../arrays.js";
import { ACTIVATIONS } from "../elementary.js";
import { defineFunction } from "../functions.js";
import {
  absoluteOf, differenceOf, expOf, maximumOf, negativeOf, numberTerm, parameterTerm, powerOf, productOf, productsOf,
  quotientOf, rootOf, sumOf, tanhOf,
} from "../terms.js";

/** Each row divided by its Euclidean norm; a row of zeros stays. */
function unitRows(array) {
  return mapRows(array, array.shape.at(-1), (row) => {
    const largest = row.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
    const scaled = row.map((x) => x / (largest === 0 ? 1 : largest));
    const norm = Math.sqrt(scaled.reduce((sum, x) => sum + x * x, 0));
    return scaled.map((x) => x / (norm === 0 ? 1 : norm));
  });
}

/** ‖q − k‖² of each pair of rows, [… n d] and [… m d] to [… n m]. */
function squaredDistances(query, key) {
  return mapRowPairs(query, key, (x, y) => (x - y) ** 2);
}

/** ‖q − k‖₁ of each pair of rows, [… n d] and [… m d] to [… n m]. */
function absoluteDistances(query, key) {
  return mapRowPairs(query, key, (x, y) => Math.abs(x - y));
}

/** `Q(cat)`, of a role with an axis of a letter. */
function vectorName(cell, role, letter) {
  return `${cell.symbol(role)}(${cell.label(letter)})`;
}

/** The line `Q(cat)·K(sat) = … = …`, of a dot product. */
function dotProductLine(cell, product) {
  const name = `${vectorName(cell, "query", "n")}·${vectorName(cell, "key", "m")}`;
  return cell.equation(productsOf(cell.terms("query"), cell.terms("key")), name, product);
}

/** The line `‖Q(cat) − K(sat)‖² = (…)² + … = …`. */
function squaredDistanceLine(cell, squared) {
  const squares = featureDifferences(cell).map((difference) => powerOf(difference, numberTerm(2)));
  return cell.equation(sumOf(squares), `‖${differenceName(cell)}‖²`, squared);
}

/** The line `‖Q(cat) − K(sat)‖₁ = |…| + … = …`. */
function absoluteDistanceLine(cell, distance) {
  return cell.equation(sumOf(featureDifferences(cell).map(absoluteOf)), `‖${differenceName(cell)}‖₁`, distance);
}

/** The definition of a squared distance as an inner quantity. */
const SQUARED_DISTANCES = { work: (cell) => [squaredDistanceLine(cell, cell.number)] };

/** The lines of one entry of a unit vector: the norm, and the division by it. */
function unitVectorLines(cell, role, name, column) {
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

/* The dot product of the query and the key. */
defineFunction("dot", {
  compute: ({ query, key }) => dotProducts(query, key),
  work: (cell) => [dotProductLine(cell, cell.number)],
});

/* The dot product, divided by the square root of the number of features. */
defineFunction("scaled_dot", {
  compute({ query, key }, options, tap) {
    const root = Math.sqrt(query.shape.at(-1));
    return mapNumbers(tap("dot_products", dotProducts(query, key)), (x) => x / root);
  },
  work(cell) {
    const product = cell.term("dot_products");
    const root = rootOf(numberTerm(cell.terms("query").length));
    return [dotProductLine(cell, product.value(null)), cell.equation(quotientOf(product, root))];
  },
  inner: { dot_products: { work: (cell) => [dotProductLine(cell, cell.number)] } },
});

/* The dot product of the key and the query, projected with a learned matrix. */
defineFunction("general", {
  compute: ({ query, key, w }, options, tap) => dotProducts(tap("projected_query", matrixProduct(query, w)), key),
  reads: ["query", "key", "projected_query"],
  work(cell) {
    const name = `${vectorName(cell, "query", "n")}·W·${vectorName(cell, "key", "m")}`;
    return [cell.equation(productsOf(cell.terms("projected_query"), cell.terms("key")), name)];
  },
  inner: {
    projected_query: {
      reads: ["query", "w"],
      work(cell) {
        const name = `${vectorName(cell, "query", "n")}·W[${cell.label("c")}]`;
        return [cell.equation(productsOf(cell.terms("query"), cell.terms("w")), name)];
      },
    },
  },
});

/* A network with one hidden layer scores each pair. */
defineFunction("additive", {
  compute({ query, key, w1, w2, v, b = makeArray([]) }, { activation = "tanh" }, tap) {
    const fromKey = withAxis(tap("projected_key", matrixProduct(key, w1)), -3);
    const fromQuery = withAxis(tap("projected_query", matrixProduct(query, w2)), -2);
    const sum = (x, y) => x + y;
    const before = mapPairs(mapPairs(fromKey, fromQuery, sum), b, sum);
    const hidden = tap("hidden", mapNumbers(before, ACTIVATIONS[activation]));
    const column = v.shape.length === 1 ? withAxis(v, -1) : v;
    const scores = matrixProduct(hidden, column);
    return v.shape.length === 1 ? makeArray(scores.shape.slice(0, -1), scores.data) : scores;
  },
  reads: ["query", "key", "v", "hidden"],
  work: (cell) => [cell.equation(productsOf(cell.terms("v"), cell.terms("hidden")), "v·H")],
  inner: {
    projected_key: {
      reads: ["key", "w1"],
      work: (cell) => projectionLines(cell, "key", "w1", `W₁·${vectorName(cell, "key", "m")}`),
    },
    projected_query: {
      reads: ["query", "w2"],
      work: (cell) => projectionLines(cell, "query", "w2", `W₂·${vectorName(cell, "query", "n")}`),
    },
    hidden: {
      reads: ["projected_key", "projected_query", "b"],
      work(cell) {
        const addends = sumOf(cell.roles.map((role) => cell.term(role)));
        const { activation = "tanh" } = cell.options;
        if (activation === "identity") return [cell.equation(addends)];
        const before = cell.computed(`W₁K + W₂Q${cell.has("b") ? " + b_H" : ""}`, addends);
        return [before.line, cell.equation(activationTerm(activation, before), "H")];
      },
    },
  },
});

/** The line of one hidden unit of a projection. */
function projectionLines(cell, vector, matrix, name) {
  return [cell.equation(productsOf(cell.terms(vector), cell.terms(matrix)), name)];
}

/** The hidden layer's nonlinearity, with the functions of a pocket calculator. */
function activationTerm(activation, x) {
  if (activation === "relu") return maximumOf(x, numberTerm(0));
  if (activation === "tanh") return tanhOf(x);
  return quotientOf(numberTerm(1), sumOf([numberTerm(1), expOf(negativeOf(x))]));
}

/* A score for each position from the query alone; the keys are not read. */
defineFunction("location", {
  compute: ({ query, w }) => matrixProduct(query, w),
  reads: ["query", "w"],
  work(cell) {
    const name = `${vectorName(cell, "query", "n")}·W[${cell.label("m")}]`;
    return [cell.equation(productsOf(cell.terms("query"), cell.terms("w")), name)];
  },
});

/* The cosine of the angle between query and key, times a strength. */
defineFunction("cosine", {
  compute({ query, key }, { beta = 1 }, tap) {
    const products = dotProducts(tap("unit_query", unitRows(query)), tap("unit_key", unitRows(key)));
    return mapNumbers(products, (x) => x * beta);
  },
  work(cell) {
    const { beta = 1 } = cell.options;
    const product = productsOf(cell.terms("unit_query"), cell.terms("unit_key"));
    return [cell.equation(beta === 1 ? product : productOf(parameterTerm(beta), product))];
  },
  inner: {
    unit_query: {
      reads: ["query"],
      whole: ["d", "c"],
      work: (cell) => unitVectorLines(cell, "query", vectorName(cell, "query", "n"), cell.column),
    },
    unit_key: {
      reads: ["key"],
      whole: ["d", "c"],
      work: (cell) => unitVectorLines(cell, "key", vectorName(cell, "key", "m"), cell.column),
    },
  },
});

/* The distance between query and key, negative. */
defineFunction("euclidean", {
  compute: ({ query, key }, options, tap) =>
    mapNumbers(tap("squared_distances", squaredDistances(query, key)), (x) => -Math.sqrt(x)),
  work(cell) {
    const squared = cell.term("squared_distances");
    return [squaredDistanceLine(cell, squared.value(null)), cell.equation(negativeOf(rootOf(squared)))];
  },
  inner: { squared_distances: SQUARED_DISTANCES },
});

/* The squared distance over 2σ², negative. */
defineFunction("gaussian", {
  compute: ({ query, key }, { sigma = 1 }, tap) =>
    mapNumbers(tap("squared_distances", squaredDistances(query, key)), (x) => -x / (2 * sigma * sigma)),
  work(cell) {
    const { sigma = 1 } = cell.options;
    const [squared, two] = [cell.term("squared_distances"), numberTerm(2)];
    const width = sigma === 1 ? two : productOf(two, powerOf(parameterTerm(sigma), two));
    return [squaredDistanceLine(cell, squared.value(null)), cell.equation(negativeOf(quotientOf(squared, width)))];
  },
  inner: { squared_distances: SQUARED_DISTANCES },
});

/* The sum of the absolute differences, negative, in units of the width σ. */
defineFunction("laplacian", {
  compute: ({ query, key }, { sigma = 1 }, tap) =>
    mapNumbers(tap("distances", absoluteDistances(query, key)), (x) => -x / sigma),
  work(cell) {
    const { sigma = 1 } = cell.options;
    const distance = cell.term("distances");
    const scaled = sigma === 1 ? distance : quotientOf(distance, parameterTerm(sigma));
    return [absoluteDistanceLine(cell, distance.value(null)), cell.equation(negativeOf(scaled))];
  },
  inner: { distances: { work: (cell) => [absoluteDistanceLine(cell, cell.number)] } },
});

/* A learned key for each distance, up to the farthest that the table has. */
defineFunction("shaw", {
  compute({ query, query_positions: positions, key_positions: keys, table }, options) {
    const rows = table.shape.at(-2);
    const products = dotProducts(query, table);
    const indices = mapPairs(withAxis(positions, -1), keys, (position, key) => tableRow(key - position, rows, options));
    const tables = products.shape.slice(0, -2).reduce((size, length) => size * length, 1);
    const [queries, count] = [products.shape.at(-2), keys.data.length];
    const shared = mapPairs(indices, makeArray([...products.shape.slice(0, -1), 1]), (row) => row);
    const result = makeArray([...products.shape.slice(0, -1), count]);
    for (let at = 0; at < tables * queries * count; at++) {
      result.data[at] = products.data[Math.floor(at / count) * rows + shared.data[at]];
    }
    return result;
  },
  index: {
    table(cell, source) {
      const distance = cell.term("key_positions").value(null) - cell.term("query_positions").value(null);
      const leading = source.axes.slice(0, -2).map((letter) => cell.at[letter]);
      return [[...leading, tableRow(distance, cell.lengthOf("table", -2), cell.options), null]];
    },
  },
  work(cell) {
    const [, row] = cell.sources().find(({ role }) => role === "table").index.slice(-3).reverse();
    const distance = row - rowsToTheLeft(cell.lengthOf("table", -2), cell.options);
    const name = `${vectorName(cell, "query", "n")}·table(${cell.write(distance)})`;
    return [cell.equation(productsOf(cell.terms("query"), cell.terms("table")), name)];
  },
});

/* A learned vector for each difference of rows and one for each of columns of a grid, by which queries are multiplied. */
defineFunction("decomposed", {
  compute({ query, query_positions: positions, key_positions: keys, rel_pos_h: rows, rel_pos_w: columns }, options) {
    const ofTable = (table, axis) => {
      const products = dotProducts(query, table);
      const count = table.shape.at(-2);
      const indices = mapPairs(withAxis(positions, -1), keys, (position, key) =>
        gridDifferenceRow(position, key, axis, count, options),
      );
      const shared = mapPairs(indices, makeArray([...products.shape.slice(0, -1), 1]), (row) => row);
      const found = shared.data.map((row, at) => products.data[Math.floor(at / keys.data.length) * count + row]);
      return makeArray(shared.shape, found);
    };
    return mapPairs(ofTable(rows, 0), ofTable(columns, 1), (ofRow, ofColumn) => ofRow + ofColumn);
  },
  index: {
    rel_pos_h: (cell) => [[gridDifferenceRowOf(cell, "rel_pos_h", 0), null]],
    rel_pos_w: (cell) => [[gridDifferenceRowOf(cell, "rel_pos_w", 1), null]],
  },
  work(cell) {
    const products = ["rel_pos_h", "rel_pos_w"].map((table) => productsOf(cell.terms("query"), cell.terms(table)));
    return [cell.equation(sumOf(products))];
  },
});

/** The row of a table of differences for a cell. */
function gridDifferenceRowOf(cell, table, axis) {
  const [position, key] = ["query_positions", "key_positions"].map((role) => cell.term(role).value(null));
  return gridDifferenceRow(position, key, axis, cell.lengthOf(table, -2), cell.options);
}

/** The row of a table of differences, of rows (axis 0) or of columns (1), for the positions of a query and a key. */
function gridDifferenceRow(position, key, axis, count, { height, width = height }) {
  const at = (token) => (axis === 0 ? Math.floor(token / width) : token - Math.floor(token / width) * width);
  const row = at(position) - at(key) + (axis === 0 ? height : width) - 1;
  return Math.min(Math.max(row, 0), count - 1);
}

/** The row of a table for a distance; distances beyond its ends get the ends. */
function tableRow(distance, rows, options) {
  return Math.min(Math.max(distance + rowsToTheLeft(rows, options), 0), rows - 1);
}

/** How many rows stand before that of distance 0: without `left` half of the others. */
function rowsToTheLeft(rows, { left }) {
  return left ?? Math.floor(rows / 2);
}
