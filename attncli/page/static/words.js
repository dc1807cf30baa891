/* The words of a problem: the page with others, whose rows of the embeddings follow, and what moves with them. */

import { evaluatePlan } from "./engine.js";
import { resizedNodes } from "./resized_page.js";
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

/** The title of the page with other words: these, where they were the title. */
function titleOfWords(source, words) {
  const text = (tokens) => tokens.map(({ token }) => token).join(" ");
  const start = source.title.replace(/ …$/, "").toLowerCase();
  return text(ownWords({ source })).toLowerCase().startsWith(start) ? text(words) : source.title;
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
  const isLonger = (letter) => letters.includes(letter);
  const resize = (of, lengths) => of.map((letter, at) => (isLonger(letter) ? words.length : lengths[at]));
  const nodes = resizedNodes(source.nodes, resize).map((node) => {
    const last = node.axes.slice(-2);
    const labels = node.labels.map((of, at) => (of.length > 0 && isLonger(last.at(at - 2)) ? own.labels : of));
    return { ...node, labels, value: isCount(node) ? counted(node, words.length) : node.value };
  });
  return { ...source, title: titleOfWords(source, words), axes, nodes };
}

/** Whether a node counts words, or something else. */
function isCount(node) {
  return node.function === "count";
}

/** The value of a node that counts so many. */
function counted({ options }, length) {
  return { shape: [length], data: Array.from({ length }, (_, at) => options.first + at) };
}

/** The values of a page with other words or heads, computed from the numbers of the program; without words those stay. */
export function valuesOfPage(page, words, own) {
  const nodes = page.plans[0].nodes.map((at) => page.nodes[at]);
  const given = nodes.filter((node) => node.function === null && node.tapped_from === null).map(({ name }) => name);
  const start = new Map(given.map((name) => [name, own.get(name)]));
  for (const node of nodes.filter(isCount)) start.set(node.name, readValue(node.axes, node.value ?? counted(node, node.shape[0])));
  if (words !== null) start.set("embeddings", rowsOfWords(words, own.get("embeddings")));
  return evaluatePlan(nodes, start, [], page.dtype).values;
}

/** The embeddings of words: of each the row that it begins with. */
function rowsOfWords(words, { axes, shape, data }) {
  const width = shape[1];
  const rows = new Float64Array(words.length * width);
  words.forEach(({ row }, at) => { if (row !== ZEROS) rows.set(data.subarray(row * width, (row + 1) * width), at * width); });
  return { axes, shape: [words.length, width], data: rows };
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
  return at === null ? { token: "new", row: ZEROS } : { ...words[at] };
}

/** Labels with the number of those that are equal: `the#2`. */
function numberedLabels(tokens) {
  const count = (token, end) => tokens.slice(0, end).filter((other) => other === token).length;
  return tokens.map((token, at) => (count(token) > 1 ? `${token}#${count(token, at + 1)}` : token));
}
