/* What the page offers to whoever opens the console, and to its tests. */

import { arithmeticOf, sourcesOf } from "./arithmetic.js";
import { changedCells } from "./changed.js";
import { evaluatePlan } from "./engine.js";
import { functionOf } from "./functions.js";
import { numberStyle, numberText } from "./numerals.js";
import { readValue } from "./values.js";

/** The state of the page, and the functions that compute and explain its numbers. */
export function consoleTools(state) {
  const hasFunction = (node) => functionOf(node) !== undefined;
  return { state, evaluatePlan, sourcesOf, arithmeticOf, changedCells, numberStyle, numberText, readValue, hasFunction };
}
