/* What was changed, as text: a sentence of each change, and the options that make the same on the command line. */

import { pageStem } from "./clipboard.js";
import { ownHeads } from "./heads.js";
import { nestedMask } from "./mask_painting.js";
import { changedSettings, parametersOf, settingText, textOfSetting } from "./settings.js";
import { numberAt } from "./values.js";
import { ownWords } from "./words.js";

const LONGEST_MASK = 4_000; // characters of an option
const NONE = "the score's own"; // of the scale

/** A text for each change in force: `embeddings[cat, x2]: 2 → 1`, `temperature: 1 → 0.5`. */
export function changeTexts(state) {
  const { edits, program } = state.get();
  const ofNumbers = edits.map(({ step, index, text }) => {
    const before = numberAt(program.get(step), index);
    return `${step}[${cellLabels(state, step, index).join(", ")}]: ${settingText(before)} → ${settingText(text)}`;
  });
  const ofSettings = changedSettings(state.get()).map(([name, before, after]) => (
    `${name}: ${wordOf(before)} → ${wordOf(typeof after === "number" ? textOfSetting(state.get(), name) : after)}`
  ));
  return [...ofWords(state.get()), ...ofHeads(state.get()), ...ofNumbers, ...ofSettings, ...ofMask(state.get())];
}

/**
 * The command that gives the numbers in force: its `words`, the same as `text` for a shell, and `reason`: null, or why
 * it is that of the file that the page saves.
 */
export function commandOf(state) {
  const { page } = state.get();
  const reason = whyNoOptions(state.get());
  const own = (page.problem?.command ?? []).filter((word) => !isCausalAgain(state.get(), word));
  const words = reason === null ? [...own.map(inShell), ...commandOptions(state)] : ["attn", "compute", inShell(`${pageStem()}-changed.yaml`)];
  return { words, text: words.join(" "), reason };
}

/** Why no options make the same changes; null where some do. */
function whyNoOptions(now) {
  if (!now.page.problem?.command.length) return "The page is that of no file.";
  if (now.words !== null) return "No option has the words.";
  if (now.mask !== null && maskOption(now.mask).length > LONGEST_MASK) return "The mask is too long for an option.";
  const isTakenOut = changedSettings(now).some(([name, , after]) => name === "scale" && after === null);
  return isTakenOut ? "No option takes out the scale." : null;
}

/** The options of `attn compute` that make the same changes, each a text for a shell. */
function commandOptions(state) {
  const now = state.get();
  const changed = new Map(changedSettings(now).map(([name, , after]) => [name, after]));
  const options = now.edits.map(({ step, index, text }) => {
    const key = now.nodes.find(({ name }) => name === step).edit_key;
    return `--set ${inShell(`${key}[${cellLabels(state, step, index).map(inQuotes).join(",")}]=${text}`)}`;
  });
  if (changed.has("scale")) options.push(`--scale ${inShell(textOfSetting(now, "scale"))}`);
  if (now.heads !== null) options.push(`--heads ${now.heads}`, ...(now.page.problem.keys.kv_heads ? [`--kv-heads ${now.heads}`] : []));
  if (now.mask !== null) options.push(maskOption(now.mask));
  const command = now.page.problem.command; // without a file it is causal by its option alone
  if (changed.has("causal") && !(command.includes("--sentence") && command.some((word) => isCausalAgain(now, word)))) options.push(changed.get("causal") ? "--causal" : "--no-causal");
  const parameters = parametersOf(now.page, now.settings.normalizer).map(({ name }) => name);
  if (changed.has("normalizer") || parameters.some((name) => changed.has(name))) {
    const numbers = parameters.map((name) => `${name}=${textOfSetting(now, name)}`).join(",");
    options.push(`--normalize ${inShell(`${now.settings.normalizer}${numbers && ":"}${numbers}`)}`);
  }
  return options;
}

/** Whether a word of the program's command makes causal what a change made otherwise. */
function isCausalAgain(now, word) {
  return word === "--causal" && changedSettings(now).some(([name]) => name === "causal");
}

function maskOption(mask) {
  return `--mask ${inShell(JSON.stringify(nestedMask(mask)))}`;
}

/** The words in force, where they are others than the program's. */
function ofWords(now) {
  if (now.words === null) return [];
  return [`words: ${ownWords(now).map(({ token }) => token).join(" ")} → ${now.words.map(({ token }) => token).join(" ")}`];
}

/** The number of heads, where it is another than the program's. */
function ofHeads(now) {
  return now.heads === null ? [] : [`heads: ${ownHeads(now)} → ${now.heads}`];
}

/** How many cells a painted mask hides. */
function ofMask({ mask }) {
  if (mask === null) return [];
  return [`mask: painted, ${mask.data.filter((number) => number === 0).length} of ${mask.data.length} cells hidden`];
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
  return settingText(value);
}

/** A label with a comma in double quotes, as `--set` reads it. */
function inQuotes(label) {
  return label.includes(",") ? `"${label}"` : label;
}

/** A word as a shell reads it: one with other signs is in quotes. */
function inShell(text) {
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
