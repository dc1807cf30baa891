/* One cell of a step: the cells that it is made from, as terms of its arithmetic that lead to them. */

import { computedTerm, equationLine } from "./equations.js";
import { functionOf } from "./functions.js";
import { decimalText, makeStyle, needsExponents } from "./numerals.js";
import { numberTerm } from "./terms.js";
import { numberAt, strides } from "./values.js";

const LEADING = ["b", "h", "g"]; // the letters of batch items and heads, whose tables are shown one by one
const TOKENS = ["n", "m", "k", "p", "q", "m+1"]; // those of queries and keys, with caches and sinks

/**
 * A cell of a node at an index, the position on each of its axes; `state` has `page`, `nodes` and `values`.
 *
 * What a cell of an inner quantity reads is what the node that it passes through reads.
 */
export function makeCell(node, index, state) {
  const { page, values } = state;
  const nodes = new Map(state.nodes.map((other) => [other.name, other]));
  const outer = node.tapped_from === null ? node : nodes.get(node.tapped_from);
  const tap = Object.keys(outer.taps).find((name) => outer.taps[name] === node.name);
  const definition = functionOf(outer);
  const rule = tap === undefined ? definition : definition?.inner?.[tap];
  const steps = { ...outer.inputs, ...outer.taps };
  const isOwn = (role) => steps[role] === node.name;
  const reads = rule?.reads ?? (tap === undefined ? Object.keys(steps) : Object.keys(outer.inputs));
  const roles = reads.filter((role) => role in steps && !isOwn(role));
  const at = positionsOf(page, node, index);

  /** The cells that a role has in this one: a list of indices, in which null stands for every position on an axis. */
  function indicesOf(role) {
    const source = nodes.get(steps[role]);
    const own = rule?.index?.[role];
    if (own !== undefined) return own(cell, source);
    const shape = values.get(source.name)?.shape ?? [];
    return [
      source.axes.map((letter, axis) => {
        if (rule?.whole?.includes(letter) || !(letter in at)) return null;
        return shape[axis] === 1 ? 0 : at[letter];
      }),
    ];
  }

  /** The numbers of a role, as terms that lead to their cells; those of this cell's own indices, or of others. */
  function terms(role, indices = indicesOf(role)) {
    const step = steps[role];
    const value = values.get(step);
    return indices.flatMap((template) =>
      everyIndex(template, value.shape).map((place) => numberTerm(numberAt(value, place), { step, index: place })),
    );
  }

  const cell = {
    node,
    index,
    at,
    rule,
    options: outer.options,
    isKnown: values.has(node.name) && roles.every((role) => values.has(steps[role])),
    has: (role) => role in steps,
    stepOf: (role) => steps[role],
    isNamed: outer.stage === "gradient" || !TOKENS.includes(node.axes.at(-1)),
    /** The arrays of the arguments of its function, by name. */
    inputs: () => Object.fromEntries(Object.entries(outer.inputs).map(([argument, name]) => [argument, values.get(name)])),
    /** The place of the cell among the numbers of its node, in the order of rows. */
    get place() {
      const { shape } = values.get(node.name);
      const steps = strides(shape);
      return index.reduce((sum, position, axis) => sum + (shape[axis] === 1 ? 0 : position) * steps[axis], 0);
    },
    column: index.at(-1),
    /** The length of an axis of a role, counted from 0, or from the end by −1, −2 … */
    lengthOf: (role, axis) => values.get(steps[role]).shape.at(axis),
    terms,
    term: (role, ...indices) => terms(role, ...indices)[0],
    /** The cells of the node's own row, as terms. */
    row: () =>
      everyIndex([...index.slice(0, -1), null], values.get(node.name).shape).map((place) =>
        numberTerm(numberAt(values.get(node.name), place), { step: node.name, index: place }),
      ),
    sources: () => rule?.sources?.(cell) ?? roles.flatMap((role) => indicesOf(role).map((place) => ({ step: steps[role], role, index: place }))),
    /** The cell of a role that this one reads alone. */
    cellOf: (role) => makeCell(nodes.get(steps[role]), indicesOf(role)[0], state),
    roles,
    /** The symbol of the node with the labels of the cell: `dQ(cat)[d1]`. */
    get name() {
      return placeName(page, node, index, false);
    },
    /** The symbol of what a role reads; of no role that of the node itself. */
    symbol: (role) => (role === undefined ? node.symbol : nodes.get(steps[role]).symbol),
    /** `Q(cat)`, of the vector of a role that a place is in. */
    vectorName(role, place) {
      const source = nodes.get(steps[role]);
      const labels = source.axes.flatMap((letter, axis) => (TOKENS.includes(letter) ? [axisLabel(page, letter, place[axis])] : []));
      return labels.length === 0 ? source.symbol : `${source.symbol}(${labels.join(", ")})`;
    },
    label: (letter) => axisLabel(page, letter, at[letter]),
    keyLabel: (key) => axisLabel(page, "m", key),
    get number() {
      return numberAt(values.get(node.name), index);
    },
    /** The line `name = term = result`; the result is the number of the cell where no other is given. */
    equation: (term, name = "", result = cell.number) => equationLine(style(), term, result, name),
    /** A number that is no step's own, with its line. */
    computed: (name, term, isAdded = false) => computedTerm(style(), name, term, isAdded),
    write: (number) => decimalText(number, style()),
    /** A line of texts and of terms, whose numbers lead to their cells. */
    sentence: (...parts) => parts.flatMap((part) => (typeof part === "string" ? [part] : part.text(style()))),
    /** The line of a number that is moved and not computed. */
    unchanged(role, from = null) {
      const source = nodes.get(steps[role]);
      const [place] = from === null ? everyIndex(indicesOf(role)[0], values.get(source.name).shape) : [from];
      const name = placeName(page, source, place);
      return [`unchanged from ${name}: `, ...terms(role, [place])[0].text(style())];
    },
  };
  const style = () => {
    const table = tableOf(values.get(node.name), node);
    return makeStyle(page.decimals, needsExponents(table, page.decimals));
  };

  /** The numbers of the table of a value that the cell is in. */
  function tableOf(value, { axes }) {
    const leading = axes.filter((letter) => LEADING.includes(letter)).length;
    const size = value.shape.slice(leading).reduce((product, length) => product * length, 1);
    const before = value.shape.slice(0, leading).reduce((start, length, axis) => start * length + index[axis], 0);
    return value.data.subarray(before * size, (before + 1) * size);
  }

  return cell;
}

/** The position on each axis by its letter, with those that follow: a query head has its key head. */
function positionsOf(page, node, index) {
  const at = Object.fromEntries(node.axes.map((letter, axis) => [letter, index[axis]]));
  if ("h" in at && "g" in page.axes) at.g ??= Math.floor((at.h * page.axes.g.length) / page.axes.h.length);
  if ("m" in at) at["m+1"] ??= at.m;
  return at;
}

/** Every index that a template has, in which null stands for each position on its axis. */
function everyIndex(template, shape) {
  return template.reduce(
    (indices, position, axis) =>
      indices.flatMap((before) =>
        position === null
          ? Array.from({ length: shape[axis] }, (_, at) => [...before, at])
          : [[...before, position]],
      ),
    [[]],
  );
}

/** The label of a position on an axis: of a feature its letter and number, counted from 1. */
function axisLabel(page, letter, at) {
  const labels = page.axes[letter]?.labels ?? [];
  if (labels.length > at) return labels[at];
  return LEADING.includes(letter) ? `${page.axes[letter].noun} ${at}` : `${letter}${at + 1}`;
}

/** The name of a cell: `A(cat, sat)`, `Q(cat)[d1]`, and with its head `Q(cat)[d1] of head 0`. */
export function placeName(page, node, place, hasLeading = true) {
  const labels = node.axes.map((letter, axis) => axisLabel(page, letter, place[axis]));
  const labelsOf = (isIn) => labels.filter((_, axis) => isIn(node.axes[axis]));
  const isToken = (letter) => TOKENS.includes(letter);
  const leading = labelsOf((letter) => LEADING.includes(letter));
  const [tokens, features] = [labelsOf(isToken), labelsOf((letter) => !isToken(letter) && !LEADING.includes(letter))];
  const enclosed = (texts, [open, close]) => (texts.length === 0 ? "" : `${open}${texts.join(", ")}${close}`);
  const name = `${node.symbol}${enclosed(tokens, "()")}${enclosed(features, "[]")}`;
  if (!hasLeading) return name;
  return leading.length === 0 ? name : `${name} of ${leading.join(", ")}`;
}
