/* What the page offers to whoever opens the console, and to its tests. */

import { arithmeticOf, sourcesOf } from "./arithmetic.js";
import { changedCells } from "./changed.js";
import { evaluatePlan } from "./engine.js";
import { numberStyle, numberText } from "./numerals.js";
import { makeState } from "./state.js";

/** The state of the page, and the functions that compute and explain its numbers. */
export function consoleTools(state) {
  return { state, evaluatePlan, sourcesOf, arithmeticOf, changedCells, numberStyle, numberText, makeState };
}
