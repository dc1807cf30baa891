/* What moves in the story, by transforms and opacity alone; where the reader wants no motion, nothing does. */

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const EASE = "cubic-bezier(0.2, 0.7, 0.2, 1)";
const [MOVE, APPEAR, FIRST, WHOLE] = [520, 380, 420, 1800]; // milliseconds: of a move, of what appears, before the first, of all terms
const [QUICKEST, SLOWEST] = [80, 280]; // between two terms

/** The places on the screen of the elements that move, by the names in `data-moves`. */
export function placesIn(root) {
  return new Map([...root.querySelectorAll("[data-moves]")].map((element) => [element.dataset.moves, element.getBoundingClientRect()]));
}

/** Move each element from where it was before, or from the table of the strip that it belongs to; others appear. */
export function moveFrom(root, before) {
  if (STILL.matches) return;
  const moving = [...root.querySelectorAll("[data-moves]")].map((element) => [element, element.getBoundingClientRect()]);
  for (const [element, to] of moving) {
    const from = before.get(element.dataset.moves) ?? before.get(element.dataset.from);
    if (from === undefined || from.width === 0 || to.width === 0) appear(element, 0);
    else if (Math.hypot(from.x - to.x, from.y - to.y) > 1 || Math.abs(from.width - to.width) > 1) moveElement(element, from, to, MOVE);
  }
}

function moveElement(element, from, to, duration, options = {}) {
  const transform = `translate(${from.x - to.x}px, ${from.y - to.y}px) scale(${from.width / to.width}, ${from.height / to.height})`;
  element.animate([{ transformOrigin: "0 0", transform }, { transformOrigin: "0 0", transform: "none" }], { duration, easing: EASE, ...options });
}

function appear(element, delay) {
  element.animate([{ opacity: 0, transform: "translateY(0.5rem)" }, { opacity: 1, transform: "none" }], { duration: APPEAR, delay, easing: EASE, fill: "backwards" });
}

/**
 * Play a stop: its lines appear one after the other, the terms of a sum out of the cells that they are made from, and
 * last the result. `lit` has the cells of each source, in order.
 */
export function playStop(lines, lit, result) {
  if (STILL.matches) return;
  const groups = lit.filter((group) => group.length > 1);
  const plays = lines.map((line) => ({ line, terms: [...line.querySelectorAll(".story-term")].map((term) => termPlay(term, groups)) })); // reads every place before anything moves
  const count = plays.reduce((sum, { terms }) => sum + terms.length, 0);
  const between = Math.min(Math.max(WHOLE / Math.max(count, 1), QUICKEST), SLOWEST);
  let delay = FIRST;
  for (const { line, terms } of plays) {
    for (const play of terms) {
      comeOutOf(play, delay);
      play.cells.forEach((cell) => pulse(cell, delay));
      delay += between;
    }
    appear(terms.length > 0 ? line.lastElementChild : line, delay);
    delay += SLOWEST;
  }
  result.forEach((cell) => appearAsResult(cell, delay));
}

/** A term, the cells that it is made from, and how far it is from the first of them. */
function termPlay(term, groups) {
  const cells = groups.flatMap((group) => group[Number(term.dataset.term)] ?? []);
  if (cells.length === 0) return { term, cells: [], way: null };
  const [from, to] = [cells[0].getBoundingClientRect(), term.getBoundingClientRect()];
  return { term, cells, way: `translate(${from.x - to.x}px, ${from.y - to.y}px) scale(0.8)` };
}

/** A term comes out of the cell that it is made from. */
function comeOutOf({ term, way }, delay) {
  if (way === null) appear(term, delay);
  else term.animate([{ transform: way, opacity: 0 }, { opacity: 0.9, offset: 0.35 }, { transform: "none", opacity: 1 }], { duration: MOVE, delay, easing: EASE, fill: "backwards" });
}

function pulse(cell, delay) {
  cell.animate([{ transform: "none" }, { transform: "scale(1.14)" }, { transform: "none" }], { duration: MOVE, delay, easing: "ease-in-out" });
}

function appearAsResult(cell, delay) {
  cell.animate([{ opacity: 0, transform: "scale(0.6)" }, { opacity: 1, transform: "scale(1.12)", offset: 0.6 }, { opacity: 1, transform: "none" }], { duration: MOVE, delay, easing: EASE, fill: "backwards" });
}
