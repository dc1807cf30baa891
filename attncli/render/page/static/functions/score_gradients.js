/* Gradients of queries, keys and the parameters of a score, from that of the scores. */

import {
  dotProducts, exchangedAxes, makeArray, mapNumbers, mapPairs, matrixProduct, productWithoutZeros, sumsOver,
} from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, negativeOf, numberTerm, parameterTerm, powerOf, productOf, productsOf, quotientOf, rootOf, sumOf,
} from "../terms.js";

/** A table with the vectors of a role on the rows: as it is for queries, turned for keys. */
function withRowsOf(role, table) {
  return role === "query" ? table : exchangedAxes(table, -1, -2);
}

/** The other role of the two. */
const OTHER = { query: "key", key: "query" };

/** The products of a table with the vectors on its columns, as a term. */
function productsTerm(cell, vectors) {
  return productsOf(cell.terms("grad"), cell.terms(vectors));
}

/** The definition of the gradient of queries or keys by a dot product with vectors, divided by √d or not. */
function ofProducts(role, vectors, isDivided = false) {
  return {
    compute({ grad, [vectors]: others }) {
      const root = isDivided ? Math.sqrt(others.shape.at(-1)) : 1;
      return mapNumbers(productWithoutZeros(withRowsOf(role, grad), others), (x) => x / root);
    },
    work(cell) {
      const [sum, count] = [productsTerm(cell, vectors), numberTerm(cell.lengthOf(vectors, -1))];
      return [cell.equation(isDivided ? quotientOf(sum, rootOf(count)) : sum, cell.name)];
    },
  };
}

/* The gradient of the queries of dot products: the keys, each times the gradient of its score. */
defineFunction("dot_query", ofProducts("query", "key"));

/* The gradient of the keys of dot products: the queries, each times the gradient of its score. */
defineFunction("dot_key", ofProducts("key", "query"));

/* The gradient of the queries of dot products that are divided. */
defineFunction("scaled_dot_query", ofProducts("query", "key", true));

/* The gradient of the keys of dot products that are divided. */
defineFunction("scaled_dot_key", ofProducts("key", "query", true));

/* The gradient of the queries of a projected dot product: that of the projected queries, times the matrix. */
defineFunction("general_query", {
  compute: ({ grad, key, w }) => dotProducts(productWithoutZeros(grad, key), w),
  work(cell) {
    const [gradients, keys, columns] = [cell.terms("grad"), cell.terms("key"), cell.lengthOf("key", -1)];
    const sums = Array.from({ length: columns }, (_, column) => {
      const own = keys.filter((_key, at) => at % columns === column);
      return cell.computed(`Σⱼ dSᵢⱼ Kⱼ[c${column + 1}]`, productsOf(gradients, own));
    });
    return [...sums.map(({ line }) => line), cell.equation(productsOf(sums, cell.terms("w")), cell.name)];
  },
});

/* The gradient of the keys of a projected dot product. */
defineFunction("general_key", ofProducts("key", "projected_query"));

/* The gradient of the matrix of a projected dot product: the sum over all pairs. */
defineFunction("general_w", {
  compute: ({ grad, query, key }) => productWithoutZeros(exchangedAxes(query, -1, -2), productWithoutZeros(grad, key)),
  work(cell) {
    const [queries, keys] = [cell.terms("query"), cell.terms("key")];
    const pairs = cell.terms("grad").map((gradient, at) => {
      const row = Math.floor(at / keys.length);
      return productOf(productOf(queries[row], gradient), keys[at - row * keys.length]);
    });
    return [cell.equation(sumOf(pairs), cell.name)];
  },
});

/* The gradient of the queries of scores from the query alone. */
defineFunction("location_query", {
  compute: ({ grad, w }) => dotProducts(grad, w),
  work: (cell) => [cell.equation(productsTerm(cell, "w"), cell.name)],
});

/* The gradient of the keys of scores from the query alone. */
defineFunction("location_key", {
  compute: ({ grad, key }) => makeArray([...grad.shape.slice(0, -2), ...key.shape.slice(-2)]),
  reads: [],
  work: () => [["the keys are not read: 0"]],
});

/* The gradient of the matrix of scores from the query alone: the sum over the queries. */
defineFunction("location_w", {
  compute: ({ grad, query }) => matrixProduct(exchangedAxes(query, -1, -2), grad),
  work: (cell) => [cell.equation(productsTerm(cell, "query"), cell.name)],
});

/** The term of a difference of one number of two roles, from the one that the gradient is of. */
function towards(cell, role) {
  const [own] = cell.terms(role);
  return cell.terms(OTHER[role]).map((other) => differenceOf(other, own));
}

/** The differences of the vectors of a role from the others [… a d], times a table [… a b]. */
function sumsTowards(role, table, inputs) {
  const weighted = matrixProduct(table, inputs[OTHER[role]]);
  const own = mapPairs(sumsOver(table, -1), inputs[role], (sum, x) => sum * x);
  return mapPairs(weighted, own, (x, y) => x - y);
}

/** The definition of the gradient of queries or keys of a Gaussian score: towards the others. */
function ofGaussian(role) {
  return {
    compute: (inputs, { sigma = 1 }) =>
      mapNumbers(sumsTowards(role, withRowsOf(role, inputs.grad), inputs), (x) => x / sigma / sigma),
    work(cell) {
      const { sigma = 1 } = cell.options;
      const sum = productsOf(cell.terms("grad"), towards(cell, role));
      const width = powerOf(parameterTerm(sigma), numberTerm(2));
      return [cell.equation(sigma === 1 ? sum : quotientOf(sum, width), cell.name)];
    },
  };
}

/* The gradient of the queries of a Gaussian score. */
defineFunction("gaussian_query", ofGaussian("query"));

/* The gradient of the keys of a Gaussian score. */
defineFunction("gaussian_key", ofGaussian("key"));

/** The definition of the gradient of queries or keys of the negative distance: the directions to the others. */
function ofDistance(role) {
  const perDistance = (grad, forward) => mapPairs(grad, forward, (g, score) => (score === 0 ? 0 : g / -score));
  return {
    compute: (inputs) => sumsTowards(role, withRowsOf(role, perDistance(inputs.grad, inputs.forward)), inputs),
    work(cell) {
      const [gradients, scores, differences] = [cell.terms("grad"), cell.terms("forward"), towards(cell, role)];
      const parts = scores.flatMap((score, at) =>
        score.value(null) === 0 ? [] : [quotientOf(productOf(gradients[at], differences[at]), negativeOf(score))],
      );
      return parts.length === 0 ? [["every vector is equal: 0 is taken"]] : [cell.equation(sumOf(parts), cell.name)];
    },
  };
}

/* The gradient of the queries of the negative distance. */
defineFunction("euclidean_query", ofDistance("query"));

/* The gradient of the keys of the negative distance. */
defineFunction("euclidean_key", ofDistance("key"));
