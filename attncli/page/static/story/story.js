/* The story: the whole computation on a strip, then the way of one cell in stops, each with its tables and arithmetic. */

import { make, symbolElement } from "../elements.js";
import { addPart } from "../parts.js";
import { goToStoryOf } from "../problem_parts.js";
import { cellOfIndex } from "../slices.js";
import { formulaElement } from "../step_head.js";
import { lineElements, spokenLines } from "./lines.js";
import { kindsOfStop, stageOf } from "./stage.js";
import {
  headlineOfStop, linesOfStop, pairText, sectionOfStop, stopInView, stopsOf, storyPositions, titleOf,
} from "./stops.js";
import { lightTable, stripElement } from "./strip.js";

const STORY_REDRAWS = ["stop", "page", "nodes", "values", "settings"];
const STORY_WIDE = 900; // pixels from which the text is beside the tables
const STORY_TEXT = 400; // pixels of the text there
const LEAST_HEIGHT = 300; // of the tables

addPart((state) => drawStory(document.getElementById("story"), state));

/** Draw the story, and the switch between it and the page without it. */
export function drawStory(element, state) {
  const parts = makeParts(state);
  element.append(parts.strip, parts.text, parts.stage, parts.lines, parts.bar);
  document.querySelector("#heading .theme-switch").before(parts.change);
  const draw = (isPlayed) => {
    const isTold = state.get().stop !== null;
    document.body.classList.toggle("is-story", isTold);
    element.hidden = !isTold;
    parts.change.textContent = isTold ? "Explore" : "Story";
    if (isTold) parts.last = state.get().stop;
    if (isTold) drawStop(element, parts, state, isPlayed);
  };
  state.listen((names) => { if (names.some((name) => STORY_REDRAWS.includes(name))) draw(names.includes("stop")); });
  let width = 0;
  new ResizeObserver(() => {
    if (element.clientWidth !== width && !element.hidden) draw(false);
    width = element.clientWidth;
  }).observe(document.documentElement);
  document.addEventListener("keydown", (event) => walkByKey(event, state));
  draw(true);
}

/** The parts of the story that stay while its stops change. */
function makeParts(state) {
  const go = (by) => () => goToStop(state, state.get().stop + by);
  const parts = {
    strip: make("div", { class: "story-place" }),
    text: make("div", { class: "story-text", "aria-live": "polite" }),
    stage: make("div", { class: "story-stage" }),
    lines: make("div", { class: "story-lines", "aria-hidden": "true" }),
    bar: make(
      "nav", { class: "story-bar", "aria-label": "Stops" },
      make("button", { type: "button", class: "story-back", title: "Arrow left", "aria-keyshortcuts": "ArrowLeft", onclick: go(-1) }, "← Back"),
      make("ol", { class: "story-progress" }),
      make("button", { type: "button", class: "story-explore", onclick: () => exploreFromStory(state) }, "Explore →"),
      make("button", { type: "button", class: "story-next", title: "Arrow right", "aria-keyshortcuts": "ArrowRight", onclick: () => goOnFromStop(state) }, "Next →"),
    ),
    change: make("button", { type: "button", class: "story-change", "aria-keyshortcuts": "Escape", onclick: () => (state.get().stop === null ? goToStop(state, parts.last) : exploreFromStory(state)) }),
    last: 0, // the stop that was in view last, to which one returns
    drawn: {}, // what the strip was drawn of
  };
  return parts;
}

/** Show a stop, of those there are. */
function goToStop(state, stop) {
  const last = stopsOf(state.get()).length;
  state.update({ stop: Math.min(Math.max(stop, 0), last) });
  scrollTo({ top: 0 });
}

/** Go on to the next stop; from the last to the story of the next part, where there is one, or to the page. */
function goOnFromStop(state) {
  const { stop, page } = state.get();
  if (stop < stopsOf(state.get()).length) goToStop(state, stop + 1);
  else if (page.next_story) goToStoryOf(page.next_story);
  else exploreFromStory(state);
}

/** Leave the story for the page, at the cell of the stop. */
function exploreFromStory(state) {
  const stop = stopInView(state.get());
  const place = stop === null ? {} : { step: stop.node.name, cell: cellOfIndex(stop.index), positions: storyPositions(state.get()), pointed: null, trail: [] };
  state.update({ ...place, stop: null });
  document.getElementById("step").focus({ preventScroll: true });
  scrollTo({ top: 0 });
}

/** Arrow keys go from stop to stop, Space and Enter on where no button has the focus, Escape leaves the story. */
function walkByKey(event, state) {
  const { stop } = state.get();
  if (stop === null || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
  const last = stopsOf(state.get()).length;
  const target = { ArrowLeft: stop - 1, Home: 0, End: last }[event.key];
  const isOn = event.key === "ArrowRight" || ([" ", "Enter"].includes(event.key) && !event.shiftKey && !event.target.closest("button, a, summary"));
  if (event.key === "Escape") exploreFromStory(state);
  else if (isOn && event.repeat && stop >= last) event.preventDefault(); // a key that is held stays in the story
  else if (isOn) goOnFromStop(state);
  else if (target !== undefined) goToStop(state, target);
  else return;
  event.preventDefault();
}

/** Draw the stop in view, or the whole. */
function drawStop(element, parts, state, isPlayed) {
  const now = state.get();
  const before = placesIn(element);
  const [stop, stops] = [stopInView(now), stopsOf(now)];
  element.classList.toggle("is-whole", stop === null);
  drawText(parts.text, state, stop);
  const lines = stop === null ? [] : linesOfStop(now, stop);
  const drawn = stop === null ? [] : lineElements(now, lines, kindsOfStop(now, stop), new Map(stops.map(({ node, index }) => [node.name, index])));
  parts.text.append(make("p", { class: "visually-hidden" }, spokenLines(lines)));
  parts.lines.replaceChildren(...drawn);
  drawBar(parts.bar, state, stops);
  drawStrip(parts, state, stop, stops);
  const stage = stop === null ? null : stageOf(now, stop, roomOfStage(element, parts));
  parts.stage.replaceChildren(...(stage === null ? [] : [stage.element]));
  element.classList.remove("is-tight");
  element.classList.toggle("is-tight", stop !== null && document.documentElement.scrollHeight > innerHeight);
  if (!isPlayed) return;
  moveFrom(element, before);
  if (stage !== null) playStop(drawn, stage.lit, stage.result);
}

function drawText(element, state, stop) {
  const now = state.get();
  if (stop === null) {
    element.replaceChildren(
      make("h2", {}, "The whole computation, and the way of one number through it"),
      make("p", { class: "purpose" }, "From left to right each table is made from those before it. The story follows ", make("strong", {}, pairText(now)), "."),
    );
    return;
  }
  const { section, name, purpose } = sectionOfStop(now, stop.node);
  element.replaceChildren(
    make("p", { class: "story-pair" }, headlineOfStop(now, stop)),
    make("h2", {}, name, " ", symbolElement(stop.node.symbol)),
    make("p", { class: "purpose" }, purpose),
    formulaElement(state, stop.node, section),
  );
}

/** The buttons, and the progress: a mark for each stop, which leads to it. */
function drawBar(element, state, stops) {
  const at = Math.min(state.get().stop, stops.length);
  const [back, progress, explore, next] = element.children;
  const [isLast, hasNext] = [at === stops.length, Boolean(state.get().page.next_story)];
  back.disabled = at === 0;
  explore.hidden = !(isLast && hasNext);
  next.textContent = at === 0 ? "Start →" : !isLast ? "Next →" : hasNext ? "Next part →" : "Explore →";
  const marks = ["the whole", ...stops.map(({ node }) => titleOf(node))].map((name, stop) => make("li", {}, make("button", {
    type: "button", class: stop < at ? "is-past" : "", title: name, "aria-current": stop === at ? "step" : null,
    "aria-label": stop === 0 ? name : `Stop ${stop} of ${stops.length}: ${name}`, onclick: () => goToStop(state, stop),
  })));
  const hadFocus = progress.contains(document.activeElement);
  progress.replaceChildren(...marks);
  if (hadFocus) marks[at].firstChild.focus();
}

/** Draw the strip, unless its tables are those that are there, and light the table of the stop. */
function drawStrip(parts, state, stop, stops) {
  const { values, nodes } = state.get();
  const place = parts.strip;
  const width = place.clientWidth;
  const drawn = { values, nodes, width, isWhole: stop === null };
  if (Object.keys(drawn).some((key) => drawn[key] !== parts.drawn[key]) || stop === null) {
    const focused = place.contains(document.activeElement) ? document.activeElement.dataset.step : null;
    const top = place.getBoundingClientRect().top + scrollY;
    const room = stop === null ? { width, height: Math.max(innerHeight - top - parts.bar.offsetHeight - 24, LEAST_HEIGHT) } : null;
    const goToBox = (name) => goToStop(state, 1 + stops.findIndex(({ box }) => box === name));
    place.replaceChildren(stripElement(state.get(), { room, told: new Set(stops.map(({ box }) => box)), goTo: goToBox }));
    if (focused !== null) place.querySelector(`[data-step="${focused}"]`)?.focus();
    parts.drawn = drawn;
  }
  lightTable(place.firstChild, stop?.box ?? null);
}

/** The pixels that the tables of a stop have. */
function roomOfStage(element, { strip, bar }) {
  const isWide = element.clientWidth >= STORY_WIDE;
  const style = getComputedStyle(element);
  const width = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const top = strip.getBoundingClientRect().bottom + scrollY;
  const height = Math.max(innerHeight - top - bar.offsetHeight - 56, LEAST_HEIGHT);
  return isWide ? { width: width - STORY_TEXT - 72, height } : { width: width - 24, height: Math.min(Math.max(height * 0.7, LEAST_HEIGHT), 420) };
}

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
