/* The parts that a page may have or not: their scripts add them, and the page draws them. */

const PARTS = [];

/** Add a part: `draw` is called with the state once the others are drawn. */
export function addPart(draw) {
  PARTS.push(draw);
}

/** Draw the parts that this page has. */
export function drawParts(state) {
  PARTS.forEach((draw) => draw(state));
}
