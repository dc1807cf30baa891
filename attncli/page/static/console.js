/* What the page offers to whoever opens the console, and to its tests. */

import { arithmeticOf, sourcesOf } from "./arithmetic.js";
import { changedCells } from "./changed.js";
import { editCell } from "./changes.js";
import { commandOf } from "./changes_text.js";
import { evaluatePlan } from "./engine.js";
import { functionOf } from "./functions.js";
import { addressOf } from "./navigation.js";
import { numberStyle, numberText } from "./numerals.js";
import { problemFile } from "./problem_file.js";
import { makeState } from "./state.js";
import { readValue } from "./values.js";

/** The state of the page, and the functions that compute and explain its numbers. */
export function consoleTools(state) {
  const hasFunction = (node) => functionOf(node) !== undefined;
  const numbers = { changedCells, numberStyle, numberText, readValue };
  return { state, evaluatePlan, editCell, addressOf, commandOf, problemFile, sourcesOf, arithmeticOf, hasFunction, makeState, ...numbers };
}
