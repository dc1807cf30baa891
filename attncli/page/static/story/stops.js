/* The stops of the story: the steps that it explains in order, and the cell of each that it goes through. */

import { arithmeticOf } from "../arithmetic.js";
import { leadingIndex, nodeOf, placeLabel, sliceText } from "../slices.js";
import { blocksOf } from "../source_tables.js";
import { sectionsOf } from "../step_order.js";
import { withWholeSums } from "../terms.js";

/** The story of the plan in force, of the names of nodes. */
function storyOf({ page, plan }) {
  return page.guide.stories[page.guide.plans[plan]] ?? { strip: [], stops: [] };
}

/** The nodes of the strip in force, in columns. */
export function stripOf(state) {
  return storyOf(state).strip.map((column) => column.map((name) => nodeOf(state, name)));
}

/** The stops in force: {node, box, index}, the node that is explained, that of the strip, and the cell on all axes. */
export function stopsOf(state) {
  const { page, values } = state;
  const stops = storyOf(state).stops.map(([name, box]) => ({ node: nodeOf(state, name), box }));
  const indexIn = ({ name }) => page.guide.cells[name].map((at, axis) => Math.min(at, values.get(name).shape[axis] - 1)); // words may be left out
  return stops.filter(({ node }) => values.has(node.name)).map((stop) => ({ ...stop, index: indexIn(stop.node) }));
}

/** Which pair the story is about: `query it, key cat, head 0`. */
export function pairText({ page }) {
  return page.guide.pair.map(([letter, at]) => placeLabel(page, letter, Math.min(at, page.axes[letter].length - 1))).join(", ");
}

/** Which cell of a stop the story goes through: the pair where it has one, else `context of cat, feature e1, head 0`. */
export function headlineOfStop(state, { node, index }) {
  const { page } = state;
  const [row, column] = node.axes.slice(-2);
  if (page.axes[row].labels.length > 0 && page.axes[column].labels.length > 0) return pairText(state);
  const label = (axis) => node.labels.at(axis)[index.at(axis)] ?? String(index.at(axis));
  return `${titleOf(node)} of ${label(-2)}, feature ${label(-1)}${sliceText(page, node, index.slice(0, -2))}`;
}

/** The stop in view, the last where the address names one that there is not; null where it is the whole. */
export function stopInView(state) {
  const stops = stopsOf(state);
  return stops[Math.min(state.stop, stops.length) - 1] ?? null;
}

/** The positions on leading axes, batch items and heads, that the story keeps to. */
export function storyPositions(state) {
  const pairs = stopsOf(state).flatMap(({ node, index }) => node.axes.slice(0, -2).map((letter, axis) => [letter, index[axis]]));
  return { ...state.positions, ...Object.fromEntries(pairs) };
}

/** The slice of a node that the story shows: the index on the axes before the last two. */
export function storyLeading(state, node) {
  return leadingIndex(state.page, node, storyPositions(state));
}

/** The name of a node as a title has it; an input keeps the name that it has in files. */
export function titleOf({ name, stage }) {
  return stage === "given" ? name : name.replaceAll("_", " ");
}

/** The text beside a stop: its names, and what it is for. */
export function sectionOfStop(state, node) {
  const section = sectionsOf(state).find(({ names }) => names.includes(node.name)) ?? null;
  return { section, name: titleOf(node), purpose: section?.purpose ?? purposeOf(state, node) };
}

/** What a step is for, without what a temperature would do where there is none. */
function purposeOf({ settings }, { options, purpose }) {
  return (settings.temperature ?? options.temperature) === 1 ? purpose.replace(/; a temperature [^.]*/, "") : purpose;
}

/**
 * The lines of arithmetic of a stop, {line, whole}: as the page has it, and with every addend of a long sum. Those that an
 * earlier stop has are left out, unless no other is left.
 */
export function linesOfStop(state, stop) {
  const stops = stopsOf(state);
  const before = stops.slice(0, stops.findIndex(({ node }) => node === stop.node));
  const told = new Set(before.flatMap(({ node, index }) => arithmeticOf(node, index, state).map(textOfLine)));
  const whole = withWholeSums(() => arithmeticOf(stop.node, stop.index, state));
  const lines = arithmeticOf(stop.node, stop.index, state).map((line, at) => ({ line, whole: whole[at] }));
  const others = lines.filter(({ line }) => !told.has(textOfLine(line)));
  return others.length > 0 ? others : lines;
}

/** A line as text. */
export function textOfLine(parts) {
  return parts.map((part) => part.text ?? part).join("");
}

/**
 * The tables that a stop reads, and the cells of them that its own is made from, as `blocksOf` has them: of a step whose
 * inner quantities are stops these alone.
 */
export function sourcesOfStop(state, { node, index }) {
  const blocks = blocksOf({ ...state, positions: storyPositions(state) }, node, index);
  const sources = [];
  for (const block of blocks) {
    const source = nodeOf(state, block.step);
    if (source.axes.length > 1 && !sources.some(({ step }) => step === block.step)) sources.push({ ...block, node: source });
  }
  const inner = stopsOf(state).map((stop) => stop.node).filter(({ tapped_from: outer }) => outer === node.name);
  const own = sources.filter((source) => inner.includes(source.node));
  return (own.length > 0 ? own : sources).slice(0, 3);
}
