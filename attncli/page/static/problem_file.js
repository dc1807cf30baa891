/* The problem with everything that was changed, as a file in YAML that `attn compute` reads. */

import { nestedMask } from "./mask_painting.js";
import { changedSettings, parametersOf, textOfSetting } from "./settings.js";
import { strides } from "./values.js";

/** Why there is no file of the problem; null where there is one. */
export function whyNoFile({ page, edits }) {
  if (!page.problem) return "The page does not have the whole problem.";
  const inFile = new Set([...stepsIn(page.problem.keys)]);
  const lacking = edits.find(({ step }) => !inFile.has(step));
  return lacking === undefined ? null : `A file with numbers has no ${lacking.step}, which was changed.`;
}

/** The text of the file. */
export function problemFile(now) {
  return Object.entries(keysOf(now)).map(([key, value]) => `${key}:${blockText(value)}\n`).join("");
}

/** The names of the steps whose numbers stand in the keys of a problem. */
function* stepsIn(value) {
  if (value === null || typeof value !== "object") return;
  if (typeof value["@step"] === "string") yield value["@step"];
  else for (const part of Object.values(value)) yield* stepsIn(part);
}

/** The keys of the changed problem, with numbers in place of steps. */
function keysOf(now) {
  let keys = withNumbers(now, now.page.problem.keys);
  const changed = new Map(changedSettings(now).map(([name, , after]) => [name, after]));
  if (changed.get("scale") === null) delete keys.scale;
  else if (changed.has("scale")) keys.scale = written(textOfSetting(now, "scale"));
  if (changed.has("causal")) keys.causal = now.settings.causal;
  if (now.mask !== null) keys.mask = nestedMask(now.mask);
  if (now.heads !== null) keys = { ...keys, heads: now.heads, ...("kv_heads" in keys ? { kv_heads: now.heads } : {}) };
  if (now.words !== null) keys.tokens = now.words.map(({ token }) => token);
  const parameters = parametersOf(now.page, now.settings.normalizer).map(({ name }) => name);
  if (changed.has("normalizer") || parameters.some((name) => changed.has(name))) keys.normalize = normalizerOf(now, keys.normalize, parameters, changed);
  return keys;
}

/** The normalizer in force with its numbers; parameters of the program's own that are no numbers stay. */
function normalizerOf({ settings, ...now }, own, parameters, changed) {
  const others = !changed.has("normalizer") && own !== null && typeof own === "object" ? own[settings.normalizer] : {};
  const numbers = parameters.map((name) => [name, written(textOfSetting({ settings, ...now }, name))]);
  return { [settings.normalizer]: { ...others, ...Object.fromEntries(numbers) } };
}

function withNumbers(now, value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value["@step"] === "string") return numbersOf(now, value["@step"], value.is_transposed);
  if (Array.isArray(value)) return value.map((part) => withNumbers(now, part));
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withNumbers(now, part)]));
}

/** The numbers of a step as nested lists, those that were changed as they were typed. */
function numbersOf(now, step, isTransposed) {
  const { shape, data } = now.values.get(step) ?? now.program.get(step);
  const steps = strides(shape);
  const typed = new Map(now.edits.filter((edit) => edit.step === step).map(({ index, text }) => [index.reduce((sum, at, axis) => sum + at * steps[axis], 0), text]));
  const order = shape.map((_, axis) => axis);
  if (isTransposed) order.push(...order.splice(-2).reverse());
  const nested = (start, depth) => {
    if (depth === shape.length) return written(typed.get(start) ?? yamlNumber(data[start]));
    return Array.from({ length: shape[order[depth]] }, (_, at) => nested(start + at * steps[order[depth]], depth + 1));
  };
  return nested(0, 0);
}

/** A text that stands in the file as it is. */
function written(text) {
  return { text: text.replaceAll("−", "-") };
}

function yamlNumber(number) {
  if (Number.isNaN(number)) return ".nan";
  if (!Number.isFinite(number)) return number > 0 ? ".inf" : "-.inf";
  return Object.is(number, -0) ? "-0.0" : String(number);
}

/** What follows a key and its colon: of a matrix a row on each line. */
function blockText(value) {
  const isMatrix = Array.isArray(value) && value.length > 0 && value.every((row) => Array.isArray(row));
  if (isMatrix) return value.map((row) => `\n- ${flowText(row)}`).join("");
  return ` ${typeof value === "string" ? nameText(value) : flowText(value)}`;
}

/** A name without quotes, a text that is none, or that YAML takes for something else, with them. */
function nameText(text) {
  return /^[a-z]\w*$/.test(text) && !/^(y|yes|n|no|on|off|true|false|null)$/.test(text) ? text : flowText(text);
}

function flowText(value) {
  if (Array.isArray(value)) return `[${value.map(flowText).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    if (typeof value.text === "string") return value.text;
    return `{${Object.entries(value).map(([key, part]) => `${nameText(key)}: ${flowText(part)}`).join(", ")}}`;
  }
  if (typeof value === "number") return yamlNumber(value);
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
