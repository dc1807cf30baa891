/* Symbols of steps as type: `W_Q` with Q below. */

import { make } from "./elements.js";

/** The symbol of a step; what follows `_` stands below. */
export function symbolElement(symbol) {
  const [letter, ...below] = symbol.split("_");
  return make("span", { class: "step-symbol" }, letter, ...(below.length ? [make("sub", {}, below.join("_"))] : []));
}
