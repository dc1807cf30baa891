/* The words of a problem: the page with others, whose rows of the embeddings follow, and what moves with them. */

import { evaluatePlan } from "./engine.js";
import { readValue } from "./values.js";

const ZEROS = -1; // the row of a word that has none of the program's

/** The words of the program: {token, row}, the row of the embeddings that each begins with. */
export function ownWords({ source }) {
  const [letter] = source.words.letters.includes("m") ? ["m"] : source.words.letters;
  const { tokens, labels, length } = source.axes[letter];
  return Array.from({ length }, (_, row) => ({ token: tokens[row] ?? labels[row] ?? `token_${row + 1}`, row }));
}

/** The words in force. */
export function wordsOf(now) {
  return now.words ?? ownWords(now);
}

/** Why the words can't be changed; null where they can. */
export function whyNoWords({ source }) {
  if (!source.words) return "Words can't be changed here.";
  if (source.exercise) return "The words of an exercise stay.";
  return typeof source.words === "string" ? source.words : null;
}

/** The page with other words: axes, labels and lengths follow. */
export function pageOfWords(source, words) {
  const { letters } = source.words;
  const tokens = words.map(({ token }) => token);
  const own = { length: words.length, tokens, labels: numberedLabels(tokens) };
  const axes = Object.fromEntries(Object.entries(source.axes).map(([letter, axis]) => [letter, letters.includes(letter) ? { ...axis, ...own } : axis]));
  const nodes = source.nodes.map((node) => {
    const isLonger = (letter) => letters.includes(letter);
    const last = node.axes.slice(-2);
    const shape = node.axes.map((letter, axis) => (isLonger(letter) ? words.length : node.shape[axis]));
    const labels = node.labels.map((of, at) => (of.length > 0 && isLonger(last.at(at - 2)) ? own.labels : of));
    const value = !node.axes.some(isLonger) ? node.value : isCount(node) ? counted(node, words.length) : null;
    return { ...node, shape, labels, value, shapes: shapesText(node.shapes, letters, words.length) };
  });
  return { ...source, axes, nodes, guide: guideOfWords(source.guide, nodes, own.labels) };
}

/** The story of a page with other words: of a cell that is still there. */
function guideOfWords(guide, nodes, labels) {
  if (!guide) return guide;
  const shapes = new Map(nodes.map(({ name, shape }) => [name, shape]));
  const cells = Object.entries(guide.cells).map(([name, index]) => [name, index.map((at, axis) => Math.min(at, shapes.get(name)[axis] - 1))]);
  const index = Object.fromEntries(cells).weights ?? [];
  if (index.length < 2) return { ...guide, cells: Object.fromEntries(cells) };
  const [query, key] = index.slice(-2).map((at) => labels[at]);
  const leading = shapes.get("weights").slice(0, -2).filter((length) => length > 1).length; // each named after the pair
  const rest = leading === 0 ? [] : guide.label.split(", ").slice(-leading);
  return { ...guide, cells: Object.fromEntries(cells), label: [`query ${query}`, `key ${key}`, ...rest].join(", ") };
}

/** Whether a node counts words, or something else. */
function isCount(node) {
  return node.function === "count";
}

/** The value of a node that counts so many. */
function counted({ options }, length) {
  return { shape: [length], data: Array.from({ length }, (_, at) => options.first + at) };
}

/** The values of a page with other words, computed from the rows of the embeddings that these have. */
export function valuesOfWords(source, page, words, own) {
  const nodes = page.plans[0].nodes.map((at) => page.nodes[at]);
  const given = nodes.filter((node) => node.function === null && node.tapped_from === null).map(({ name }) => name);
  const { axes, shape, data } = own.get("embeddings");
  const width = shape[1];
  const rows = new Float64Array(words.length * width);
  words.forEach(({ row }, at) => { if (row !== ZEROS) rows.set(data.subarray(row * width, (row + 1) * width), at * width); });
  const start = new Map(given.map((name) => [name, own.get(name)]));
  for (const node of nodes.filter(isCount)) start.set(node.name, readValue(node.axes, node.value ?? counted(node, node.shape[0])));
  start.set("embeddings", { axes, shape: [words.length, width], data: rows });
  return evaluatePlan(nodes, start, [], page.dtype).values;
}

/**
 * The changes after the words were put in another order, some left out or added: `from` has for each new word the place
 * of the old one that it was, or null for one without numbers; what was changed of that word goes with it.
 */
export function movedChanges(now, words, from) {
  const edits = now.edits.flatMap((edit) => {
    if (edit.step !== "embeddings") return [edit];
    return from.flatMap((old, row) => (old === edit.index[0] ? [{ ...edit, index: [row, edit.index[1]] }] : []));
  });
  const isOwn = JSON.stringify(words) === JSON.stringify(ownWords(now));
  return { words: isOwn ? null : words, edits, mask: now.mask === null ? null : movedMask(now.mask, from) };
}

/** A mask whose rows and columns are moved; a new word without numbers sees every one, and every one sees it. */
function movedMask({ shape, data }, from) {
  const old = shape.at(-1);
  const size = from.length;
  const tables = data.length / (old * old);
  const moved = Array.from({ length: tables * size * size }, (_, at) => {
    const [table, row, column] = [Math.floor(at / size / size), from[Math.floor(at / size) % size], from[at % size]];
    return row === null || column === null ? 1 : data[(table * old + row) * old + column];
  });
  return { shape: [...shape.slice(0, -2), size, size], data: moved };
}

/** A word that is added, and its embedding: that of another, or zeros. */
export function newWord(words, at) {
  return { token: "new", row: at === null ? ZEROS : words[at].row };
}

/** Labels with the number of those that are equal: `the#2`. */
function numberedLabels(tokens) {
  const count = (token, end) => tokens.slice(0, end).filter((other) => other === token).length;
  return tokens.map((token, at) => (count(token) > 1 ? `${token}#${count(token, at + 1)}` : token));
}

/** The text of shapes, `[n m] 3 × 3`, with other lengths of some letters. */
function shapesText(text, letters, length) {
  return text.replace(/\[([^\]]*)\] ([\d,]+(?: × [\d,]+)*)/g, (_, names, sizes) => {
    const parts = sizes.split(" × ");
    return `[${names}] ${names.split(" ").map((name, at) => (letters.includes(name) ? length : parts[at])).join(" × ")}`;
  });
}
