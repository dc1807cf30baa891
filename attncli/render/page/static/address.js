/* What was changed, in the address: a link to the page gives the same numbers, and so does the page loaded again. */

import { applyChange, hasPlan, whyNotEditable } from "./changes.js";
import { readNumber, readTyped } from "./numbers_typed.js";
import { changedSettings, parametersOf, settingsOfPage, textOfSetting } from "./settings.js";

const KEY = "set"; // of the address
const OWN_SCALE = ""; // the text of a scale that was taken out
const PLAIN = { "%2C": ",", "%2F": "/", "%40": "@" }; // readable as they are

/**
 * The changes in force as parts of the address, [key, text], none where nothing is changed.
 *
 * They are `set=embeddings@1,0~1/3!scale~0.5`: a number of an input by its step and its index, a setting by its name.
 */
export function changesInAddress(now) {
  const edits = now.edits.map(({ step, index, text }) => `${inAddress(step)}@${index.join(",")}~${inAddress(text)}`);
  const settings = changedSettings(now).map(([name]) => `${name}~${inAddress(textOf(now, name))}`);
  const all = [...edits, ...settings];
  return all.length === 0 ? [] : [[KEY, all.join("!")]];
}

/** Put the changes of an address in force, those that this page can make; without any nothing is changed. */
export function readChanges(state, hash) {
  const before = JSON.stringify(changesInAddress(state.get()));
  const changes = changesOfParts(state, rawParts(hash));
  const { page } = state.get();
  if (!hasPlan(state, changes.settings)) changes.settings = settingsOfPage(page);
  const after = { ...state.get(), ...changes };
  if (JSON.stringify(changesInAddress(after)) !== before) applyChange(state, changes);
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
  const changes = { settings: { ...settingsOfPage(state.get().page) }, typed: {}, edits: [] };
  for (const entry of (parts.get(KEY) ?? "").split("!")) {
    const [name, text] = entry.split("~").map(decoded);
    if (text === undefined) continue;
    if (name.includes("@")) addEdit(state, changes, name, text);
    else addSetting(state, changes, name, text);
  }
  return changes;
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
  const shape = state.get().program.get(step)?.shape ?? [];
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
