/* What a query gets that may attend to nothing, where that is not 0: NaN, or the same weight for every key. */

import { defineFunction } from "../functions.js";
import { normalizedRows } from "../normalizing.js";

defineFunction("fill_empty_rows", {
  compute: ({ weights }, { fill, keys }) =>
    normalizedRows(weights, (row) => {
      if (row.some((weight) => weight !== 0)) return row;
      return row.map(() => (fill === "nan" ? NaN : 1 / keys));
    }),
  whole: ["m"],
  work(cell) {
    const weights = cell.terms("weights");
    if (weights.some((weight) => weight.value(null) !== 0)) {
      return [cell.sentence("some keys are visible: the weight stays ", weights[cell.column])];
    }
    const { fill, keys } = cell.options;
    const weight = fill === "nan" ? "NaN" : `1/${keys} = ${cell.write(cell.number)}`;
    return [[`every key is hidden: ${weight}`]];
  },
});
