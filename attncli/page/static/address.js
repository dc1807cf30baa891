/* What was changed, in the address: a link to the page gives the same numbers, and so does the page loaded again. */

import { applyChange, hasPlan, whyNotEditable } from "./changes.js";
import { ownHeads } from "./heads.js";
import { firstMask, maskOfText, maskText, whyNoPainting } from "./mask_painting.js";
import { readNumber, readTyped } from "./numbers_typed.js";
import { changedSettings, parametersOf, settingsOfPage, textOfSetting } from "./settings.js";
import { ownWords, whyNoWords } from "./words.js";

const KEY = "set"; // of the address
const FILLS = "fill"; // of what was filled in
const [WORDS, HEADS, MASK] = ["words", "heads", "mask"];
const OWN_SCALE = ""; // the text of a scale that was taken out
const PLAIN = { "%2C": ",", "%2F": "/", "%40": "@" }; // readable as they are

/**
 * The changes in force as parts of the address, [key, text], none where nothing is changed.
 *
 * They are `set=embeddings@1,0~1/3!scale~0.5`: a number of an input by its step and its index, a setting by its name;
 * `words=the~0!new~-1`, each with the row of the embeddings that it begins with; `heads=4`; `mask` as bits; and
 * `fill=weights@0,1~0.5`, what was filled in an exercise.
 */
export function changesInAddress(now) {
  const edits = now.edits.map(({ step, index, text }) => `${inAddress(step)}@${index.join(",")}~${inAddress(text)}`);
  const settings = changedSettings(now).map(([name]) => `${name}~${inAddress(textOf(now, name))}`);
  const fills = Object.entries(now.fills).map(([place, text]) => `${inAddress(place)}~${inAddress(text)}`);
  const words = (now.words ?? []).map(({ token, row }) => `${inAddress(token)}~${row}`);
  const mask = now.mask === null ? "" : maskText(now.mask);
  const parts = [[WORDS, words.join("!")], [HEADS, now.heads ?? ""], [MASK, mask], [KEY, [...edits, ...settings].join("!")], [FILLS, fills.join("!")]];
  return parts.filter(([, text]) => text !== "");
}

/** Put the changes of an address in force, those that this page can make; without any nothing is changed. */
export function readChanges(state, hash) {
  const before = JSON.stringify(changesInAddress(state.get()));
  const changes = changesOfParts(state, rawParts(hash));
  const { page } = state.get();
  if (!hasPlan(state, changes.settings)) changes.settings = settingsOfPage(page);
  const after = { ...state.get(), ...changes, fills: state.get().fills };
  if (JSON.stringify(changesInAddress(after)) !== before) applyChange(state, changes);
  state.update({ fills: fillsOf(page, rawParts(hash)) });
}

/** A text in the address: what would end a part of it is an escape. */
function inAddress(text) {
  return encodeURIComponent(text).replaceAll("!", "%21").replaceAll("~", "%7E").replace(/%2C|%2F|%40/g, (escape) => PLAIN[escape]);
}

/** The parts of an address by key, as they are written there. */
function rawParts(hash) {
  return new Map(hash.replace(/^#/, "").split("&").map((part) => [part.split("=")[0], part.slice(part.indexOf("=") + 1)]));
}

function changesOfParts(state, parts) {
  const words = wordsIn(state.get(), parts);
  const mask = maskIn(state.get(), words, parts);
  const changes = { settings: { ...settingsOfPage(state.get().page) }, typed: {}, edits: [], words, mask, heads: headsIn(state.get(), parts) };
  for (const entry of (parts.get(KEY) ?? "").split("!")) {
    const [name, text] = entry.split("~").map(decoded);
    if (text === undefined) continue;
    if (name.includes("@")) addEdit(state, changes, name, text);
    else addSetting(state, changes, name, text);
  }
  return changes;
}

/** The words of an address; null where it has none, or the page has no others. */
function wordsIn(now, parts) {
  if (!parts.get(WORDS) || whyNoWords(now) !== null) return null;
  const words = parts.get(WORDS).split("!").map((entry) => entry.split("~").map(decoded)).map(([token, row]) => ({ token, row: Number(row) }));
  const rows = ownWords(now).length;
  return words.every(({ token, row }) => token && Number.isInteger(row) && row >= -1 && row < rows) ? words : null;
}

/** The number of heads of an address; null where it has none, or the page does not offer it. */
function headsIn(now, parts) {
  const heads = Number(parts.get(HEADS));
  return heads !== ownHeads(now) && now.source.heads?.some((choice) => choice.heads === heads) ? heads : null;
}

/** The painted mask of an address; null where it has none, or one of another size. */
function maskIn(now, words, parts) {
  if (!parts.get(MASK) || whyNoPainting(now) !== null) return null;
  const { shape } = firstMask(now);
  const length = (words ?? (whyNoWords(now) === null ? ownWords(now) : null))?.length;
  return maskOfText(parts.get(MASK), length === undefined ? shape : [...shape.slice(0, -2), length, length]);
}

/** What an address has filled in an exercise. */
function fillsOf({ exercise }, parts) {
  const entries = (parts.get(FILLS) ?? "").split("!").map((entry) => entry.split("~").map(decoded));
  return Object.fromEntries(entries.filter(([place, text]) => text !== undefined && exercise?.answers.includes(place.split("@")[0])));
}

/** A text of the address without its escapes; those that are none stay. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function addEdit(state, changes, place, text) {
  const [step, ...positions] = [place.slice(0, place.lastIndexOf("@")), ...place.slice(place.lastIndexOf("@") + 1).split(",")];
  const own = state.get().own.program.get(step)?.shape ?? [];
  const shape = step === "embeddings" && changes.words !== null ? [changes.words.length, own[1]] : own;
  const index = positions[0] === "" ? [] : positions.map(Number);
  const isPlace = index.length === shape.length && index.every((at, axis) => Number.isInteger(at) && at >= 0 && at < shape[axis]);
  const value = readTyped(text);
  const isEditable = state.get().nodes.some(({ name }) => name === step) && whyNotEditable(state, step) === null;
  if (isPlace && isEditable && value !== null) changes.edits.push({ step, index, value, text });
}

function addSetting({ get }, { settings, typed }, name, text) {
  const { page } = get();
  if (page.settings.can_compute !== true || !(name in settings)) return;
  if (name === "normalizer") {
    if (page.settings.normalizers.some((one) => one.name === text)) settings.normalizer = text;
  } else if (name === "causal") {
    if (settings.causal !== null) settings.causal = text === "1";
  } else if (name === "scale" && (text === OWN_SCALE || page.settings.scale === null)) {
    if (page.settings.scale !== null) settings.scale = null;
  } else {
    const range = page.settings.normalizers.flatMap((one) => parametersOf(page, one.name)).find((one) => one.name === name);
    const { value } = readNumber(text, { least: range?.least, above: range?.above, isInteger: range?.is_integer });
    if (value === undefined) return;
    settings[name] = value;
    typed[name] = text;
  }
}

/** The text of a setting in the address: a number as it was typed. */
function textOf(now, name) {
  const value = now.settings[name];
  if (value === null) return OWN_SCALE;
  return typeof value === "boolean" ? String(Number(value)) : textOfSetting(now, name);
}
