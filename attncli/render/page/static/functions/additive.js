/* A network with one hidden layer scores each pair. */

import { makeArray, mapNumbers, mapPairs, matrixProduct, withAxis } from "../arrays.js";
import { ACTIVATIONS } from "../elementary.js";
import { defineFunction } from "../functions.js";
import { vectorName } from "../scoring.js";
import { expOf, maximumOf, negativeOf, numberTerm, productsOf, quotientOf, sumOf, tanhOf } from "../terms.js";

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
