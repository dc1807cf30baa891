/* Recurrences: a state that every token decays, reads and writes, in place of scores and weights. */

import { broadcastShape, broadcastTo, makeArray, mapNumbers, mapRows, withAxis } from "../arrays.js";
import { defineFunction } from "../functions.js";
import {
  differenceOf, expOf, maximumOf, numberTerm, parameterTerm, productOf, productsOf, quotientOf, rootOf, sumOf,
} from "../terms.js";
import { plainSoftmax } from "./normalizers.js";

/** Each row divided by the root of its squared length and eps. */
function l2Rows(x, eps) {
  return mapRows(x, x.shape.at(-1), (row) => {
    const size = Math.sqrt(row.reduce((sum, entry) => sum + entry * entry, 0) + eps);
    return row.map((entry) => entry / size);
  });
}

/* The feature maps: `compute(x, eps)`, and `term(vector, column, eps)` of one entry of a vector. */
const FEATURE_MAPS = {
  identity: { compute: (x) => x, term: (vector, column) => vector[column] },
  l2: {
    compute: l2Rows,
    term: (vector, column, eps) =>
      quotientOf(vector[column], rootOf(sumOf([productsOf(vector, vector), parameterTerm(eps)]))),
  },
  "elu+1": {
    compute: (x) => mapNumbers(x, (entry) => (entry > 0 ? entry + 1 : Math.exp(entry))),
    term: (vector, column) =>
      vector[column].value(null) > 0 ? sumOf([vector[column], numberTerm(1)]) : expOf(vector[column]),
  },
  relu: {
    compute: (x) => mapNumbers(x, (entry) => Math.max(entry, 0)),
    term: (vector, column) => maximumOf(vector[column], numberTerm(0)),
  },
  softmax: {
    compute: plainSoftmax,
    term: (vector, column) => quotientOf(expOf(vector[column]), sumOf(vector.map(expOf))),
  },
};

/** An array [… n], or [… n d] of each key feature, in the shape [… n d]; one number is that of all of them. */
function ofFeatures(array, leading, rows, features) {
  const hasFeatures = array.shape.length === leading.length + 2;
  return broadcastTo(hasFeatures ? array : withAxis(array, -1), [...leading, rows, features]).data;
}

/**
 * What every token does: the states [… n d e] `before` it, `decayed` and `after` it, and [… n e] what is `readBack` and
 * `written`. Without `beta` the values are written, whatever is read back.
 */
function statesOf({ key, value, decay, beta, past_state: past }, leading) {
  const [rows, features, columns] = [key.shape.at(-2), key.shape.at(-1), value.shape.at(-1)];
  const size = features * columns;
  const keys = broadcastTo(key, [...leading, rows, features]).data;
  const values = broadcastTo(value, [...leading, rows, columns]).data;
  const decays = decay === undefined ? null : ofFeatures(decay, leading, rows, features);
  const betas = beta === undefined ? null : ofFeatures(beta, leading, rows, 1);
  const emptyOf = (...own) => makeArray([...leading, rows, ...own]);
  const [before, decayed, after] = Array.from({ length: 3 }, () => emptyOf(features, columns));
  const [readBack, written] = [emptyOf(columns), emptyOf(columns)];
  const states = past === undefined ? null : broadcastTo(past, [...leading, features, columns]).data;
  for (let token = 0; token * columns < values.length; token++) {
    const [ofKey, ofValue, ofState] = [token * features, token * columns, token * size];
    const head = Math.floor(token / rows);
    const source = token % rows === 0 ? states : after.data;
    const from = token % rows === 0 ? head * size : ofState - size;
    for (let at = 0; at < size; at++) {
      before.data[ofState + at] = source === null ? 0 : source[from + at];
      const factor = decays === null ? 1 : Math.exp(decays[ofKey + Math.floor(at / columns)]);
      decayed.data[ofState + at] = factor * before.data[ofState + at];
    }
    for (let column = 0; column < columns; column++) {
      let read = 0;
      for (let at = 0; at < features; at++) read += keys[ofKey + at] * decayed.data[ofState + at * columns + column];
      readBack.data[ofValue + column] = read;
      const own = values[ofValue + column];
      written.data[ofValue + column] = betas === null ? own : betas[token] * (own - read);
    }
    for (let at = 0; at < size; at++) {
      const add = keys[ofKey + Math.floor(at / columns)] * written.data[ofValue + (at % columns)];
      after.data[ofState + at] = decayed.data[ofState + at] + add;
    }
  }
  return { before, decayed, readBack, written, after };
}

/** The axes before those of tokens and features, to which all arrays broadcast. */
function commonLeading(...arrays) {
  return arrays.map((array) => array.shape.slice(0, -2)).reduce(broadcastShape);
}

/** What each token reads of its state, [… n d] and [… n d e] to [… n e]. */
function readings(query, states) {
  const [features, columns] = states.shape.slice(-2);
  const result = makeArray([...states.shape.slice(0, -2), columns]);
  const queries = broadcastTo(query, [...states.shape.slice(0, -2), features]).data;
  for (let at = 0; at < result.data.length; at++) {
    const token = Math.floor(at / columns);
    for (let feature = 0; feature < features; feature++) {
      const row = token * features + feature;
      result.data[at] += queries[row] * states.data[row * columns + (at % columns)];
    }
  }
  return result;
}

/** The last state of each head, of those of all tokens [… n d e]. */
function lastStates(states) {
  const [rows, features, columns] = states.shape.slice(-3);
  const size = features * columns;
  const result = makeArray([...states.shape.slice(0, -3), features, columns]);
  for (let head = 0; head * size < result.data.length; head++) {
    const last = (head + 1) * rows - 1;
    result.data.set(states.data.subarray(last * size, (last + 1) * size), head * size);
  }
  return result;
}

/** Where the cells of a role are at this token: of keys and values, whose letter is m, and of what is one for all. */
const atToken = (role, at = (cell) => cell.at) => (cell, source) => [
  source.axes.map((letter, axis) => {
    const position = at(cell)[letter === "m" ? "n" : letter];
    return position === undefined ? null : cell.lengthOf(role, axis) === 1 ? 0 : position;
  }),
];

/** Those at this token and all before it. */
const untilToken = (role) => (cell, source) => {
  const isOne = !source.axes.some((letter) => letter === "n" || letter === "m");
  const tokens = isOne ? [cell.at.n] : Array.from({ length: cell.at.n + 1 }, (_, token) => token);
  return tokens.flatMap((n) => atToken(role, () => ({ ...cell.at, n }))(cell, source));
};

/** The name of the array that tokens have after the feature map. */
const mapped = (cell, role) => (cell.has(`mapped_${role}`) ? `mapped_${role}` : role);

/** The term of a state that a token writes to. */
const foundState = (cell) => cell.terms(cell.has("decayed_states") ? "decayed_states" : "states_before");

/** The cells of a role where another one is not there, which is made of it. */
const unless = (other, role, cellsOf = atToken(role)) => (cell, source) =>
  cell.has(other) ? [] : cellsOf(cell, source);

/** The definition of queries or keys after the feature map. */
function mappedRows(role) {
  return {
    reads: [role],
    index: { [role]: (cell) => [[...cell.index.slice(0, -1), null]] },
    work(cell) {
      const { feature_map: name, eps } = cell.options;
      return [cell.equation(FEATURE_MAPS[name].term(cell.terms(role), cell.column, eps), cell.name)];
    },
  };
}

/** The inner quantities: what each token finds, keeps, reads back, corrects and writes. */
const INNER = {
  mapped_query: mappedRows("query"),
  mapped_key: mappedRows("key"),
  states_before: {
    reads: ["states", "past_state"],
    index: {
      states: (cell) => (cell.at.n === 0 ? [] : [[...cell.index.slice(0, -3), cell.at.n - 1, ...cell.index.slice(-2)]]),
      past_state: (cell, source) => (cell.at.n === 0 ? atToken("past_state")(cell, source) : []),
    },
    work(cell) {
      if (cell.at.n > 0) return [cell.unchanged("states")];
      return [cell.has("past_state") ? cell.unchanged("past_state") : ["before the first token the state is 0"]];
    },
  },
  decayed_states: {
    reads: ["states_before", "decay"],
    work: (cell) => [cell.equation(productOf(expOf(cell.term("decay")), cell.term("states_before")), cell.name)],
  },
  read_back: {
    reads: ["key", "mapped_key", "states_before", "decayed_states"],
    index: { key: unless("mapped_key", "key"), states_before: unless("decayed_states", "states_before") },
    work: (cell) => [cell.equation(productsOf(cell.terms(mapped(cell, "key")), foundState(cell)), cell.name)],
  },
  corrections: {
    reads: ["value", "beta", "read_back"],
    index: { value: atToken("value") },
    work: (cell) => [
      cell.equation(productOf(cell.term("beta"), differenceOf(cell.term("value"), cell.term("read_back"))), cell.name),
    ],
  },
  states: {
    reads: ["key", "mapped_key", "value", "corrections", "states_before", "decayed_states"],
    index: {
      key: unless("mapped_key", "key"),
      value: unless("corrections", "value"),
      states_before: unless("decayed_states", "states_before"),
    },
    work(cell) {
      const written = cell.term(cell.has("corrections") ? "corrections" : "value");
      const added = productOf(cell.term(mapped(cell, "key")), written);
      return [cell.equation(sumOf([...foundState(cell), added]), cell.name)];
    },
  },
  key_sums: {
    reads: ["key", "mapped_key", "decay"],
    index: {
      key: unless("mapped_key", "key", untilToken("key")),
      mapped_key: untilToken("mapped_key"),
      decay: untilToken("decay"),
    },
    work(cell) {
      if (cell.at.n === 0) return [cell.unchanged(mapped(cell, "key"))];
      const key = cell.terms(mapped(cell, "key")).at(-1);
      const [before] = cell.terms("key_sums", [[...cell.index.slice(0, -2), cell.at.n - 1, cell.column]]);
      const kept = cell.has("decay") ? productOf(expOf(cell.terms("decay").at(-1)), before) : before;
      return [cell.equation(sumOf([kept, key]), cell.name)];
    },
  },
};

/** What the states of all tokens are made of. */
const MADE_OF = ["key", "value", "decay", "beta", "past_state"];

/** The definition of every recurrence: without `decay` nothing is forgotten, without `beta` nothing is read back. */
const RECURRENCE = {
  compute(inputs, options, tap) {
    const { compute } = FEATURE_MAPS[options.feature_map];
    const query = tap("mapped_query", compute(inputs.query, options.eps));
    const key = tap("mapped_key", compute(inputs.key, options.eps));
    const leading = commonLeading(query, key, inputs.value);
    const found = statesOf({ ...inputs, key }, leading);
    tap("states_before", found.before);
    tap("decayed_states", found.decayed);
    tap("read_back", found.readBack);
    tap("corrections", found.written);
    const read = readings(query, tap("states", found.after));
    if (options.normalize) {
      const value = mapNumbers(makeArray([...key.shape.slice(0, -1), 1]), () => 1);
      const sums = statesOf({ key, value, decay: inputs.decay }, leading).after;
      tap("key_sums", makeArray(sums.shape.slice(0, -1), sums.data));
      const divisors = readings(query, sums).data;
      return makeArray(read.shape, read.data.map((x, at) => x / divisors[Math.floor(at / read.shape.at(-1))]));
    }
    const scale = options.scale ?? 1 / Math.sqrt(query.shape.at(-1));
    return mapNumbers(read, (x) => scale * x);
  },
  reads: ["query", "mapped_query", "states", "key_sums", ...MADE_OF],
  index: {
    query: unless("mapped_query", "query"),
    ...Object.fromEntries(MADE_OF.map((role) => [role, unless("states", role, untilToken(role))])),
  },
  work(cell) {
    if (!cell.has("states")) return [["so many tokens are computed in chunks, which keep no states"]];
    const query = cell.terms(mapped(cell, "query"));
    const reading = productsOf(query, cell.terms("states"));
    const name = `${cell.symbol()}(${cell.label("n")})[${cell.label("e")}]`;
    if (cell.options.normalize) {
      return [cell.equation(quotientOf(reading, productsOf(query, cell.terms("key_sums"))), name)];
    }
    const scale = cell.options.scale ?? 1 / Math.sqrt(query.length);
    return [cell.equation(scale === 1 ? reading : productOf(numberTerm(scale), reading), name)];
  },
  inner: INNER,
};

/* Every key and value is written to the state, and nothing is forgotten. */
defineFunction("linear", RECURRENCE);

/* The state decays before each key and value is written to it. */
defineFunction("gated", RECURRENCE);

/* Each token writes a part of the difference of its value and what the state has for its key. */
defineFunction("delta", RECURRENCE);

/* The state decays; then each token writes a part of how far its value is from what is read back. */
defineFunction("gated_delta", RECURRENCE);

/* The state after the last token, [… d e]. */
defineFunction("present_state", {
  compute(inputs, { feature_map: name, eps }) {
    const key = FEATURE_MAPS[name].compute(inputs.key, eps);
    return lastStates(statesOf({ ...inputs, key }, commonLeading(key, inputs.value)).after);
  },
  reads: MADE_OF,
  index: Object.fromEntries(MADE_OF.map((role) => [role, ofAllTokens(role)])),
  work: (cell) => [[`the state after the last token: ${cell.write(cell.number)}`]],
});

/** The cells of a role of all tokens and key features, of one head, which may be one of keys, and one value feature. */
function ofAllTokens(role) {
  return (cell, source) => atToken(role, ({ at: { b, h, g, e } }) => ({ b, h, g, e }))(cell, source);
}
