/* What was changed, as text: a sentence of each change, and the options that make the same on the command line. */

import { parametersOf, settingText, settingsOfPage } from "./settings.js";
import { numberAt } from "./values.js";

const NONE = "the score's own"; // of the scale

/** A text for each change in force: `embeddings[cat, x2]: 2 → 1`, `temperature: 1 → 0.5`. */
export function changeTexts(state) {
  const { edits, program } = state.get();
  const ofNumbers = edits.map(({ step, index, value }) => {
    const before = numberAt(program.get(step), index);
    return `${step}[${cellLabels(state, step, index).join(", ")}]: ${settingText(before)} → ${settingText(value)}`;
  });
  const ofSettings = changedSettings(state).map(([name, before, after]) => `${name}: ${wordOf(before)} → ${wordOf(after)}`);
  return [...ofNumbers, ...ofSettings];
}

/** The options of `attn compute` that make the same changes; null where a change has none. */
export function commandOptions(state) {
  const { page, nodes, settings, edits } = state.get();
  const changed = new Map(changedSettings(state).map(([name, , after]) => [name, after]));
  if (changed.has("scale") && changed.get("scale") === null) return null; // no option takes a number of the file back
  const options = edits.map(({ step, index, value }) => {
    const key = nodes.find(({ name }) => name === step).edit_key;
    return `--set ${inShell(`${key}[${cellLabels(state, step, index).map(inQuotes).join(",")}]=${value}`)}`;
  });
  if (changed.has("scale")) options.push(`--scale ${changed.get("scale")}`);
  if (changed.has("causal")) options.push(changed.get("causal") ? "--causal" : "--no-causal");
  const parameters = parametersOf(page, settings.normalizer).map(({ name }) => name);
  if (changed.has("normalizer") || parameters.some((name) => changed.has(name))) {
    const numbers = parameters.map((name) => `${name}=${settings[name]}`).join(",");
    options.push(`--normalize ${settings.normalizer}${numbers && ":"}${numbers}`);
  }
  return options;
}

/** The settings that differ from the program's and that the normalizer in force reads: [name, before, after]. */
function changedSettings(state) {
  const { page, settings } = state.get();
  const before = settingsOfPage(page);
  const read = new Set(["scale", "causal", "normalizer", ...parametersOf(page, settings.normalizer).map(({ name }) => name)]);
  return Object.keys(before).filter((name) => read.has(name) && settings[name] !== before[name]).map((name) => [name, before[name], settings[name]]);
}

/** What the entries of a cell are called on each axis: labels of rows and columns, numbers of heads and batch items. */
function cellLabels(state, step, index) {
  const node = state.get().nodes.find(({ name }) => name === step);
  const labels = index.slice(-2).map((at, axis) => node.labels[node.labels.length - Math.min(index.length, 2) + axis][at]);
  return [...index.slice(0, -2).map(String), ...labels];
}

function wordOf(value) {
  if (value === null) return NONE;
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "number" ? settingText(value) : value;
}

/** A label with a comma in double quotes, as `--set` reads it. */
function inQuotes(label) {
  return label.includes(",") ? `"${label}"` : label;
}

function inShell(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
