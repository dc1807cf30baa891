/* Settings: the numbers and choices of a problem that can be changed: scale, causal, the normalizer and its parameters. */

import { readTyped } from "./numbers_typed.js";

/**
 * The settings that the program computed with, by name: `causal`, `scale` (null where the score has its own),
 * `normalizer`, and each parameter that a normalizer of the page has. What a problem can't choose is null.
 */
export function settingsOfPage({ settings }) {
  const parameters = settings.normalizers.flatMap((normalizer) => normalizer.parameters.map(({ name, value }) => [name, value]));
  const own = settings.normalizers.find(({ name }) => name === settings.normalizer)?.parameters ?? [];
  return {
    scale: settings.scale?.value ?? null,
    causal: settings.causal,
    normalizer: settings.normalizer,
    ...Object.fromEntries(parameters),
    ...Object.fromEntries(own.map(({ name, value }) => [name, value])),
  };
}

/** The parameters of a normalizer: {name, value, least, above, is_integer}. */
export function parametersOf(page, normalizer) {
  return page.settings.normalizers.find(({ name }) => name === normalizer)?.parameters ?? [];
}

/** The formula of a node as markup, in the form that it has by the settings in force. */
export function formulaOf(node, settings) {
  if (node.formulas === null) return node.mathml;
  const { setting, forms } = node.formulas;
  return forms.find(({ value }) => value === null || value === settings[setting]).mathml;
}

/** Write the numbers in force into a formula: an element with `data-setting` has the number of that setting. */
export function fillSettings(element, settings) {
  for (const number of element.querySelectorAll("[data-setting]")) {
    const value = settings[number.dataset.setting];
    if (value !== null && value !== undefined) number.textContent = settingText(value);
  }
}

/** The settings that differ from the program's and that the normalizer in force reads: [name, before, after]. */
export function changedSettings({ page, settings }) {
  const before = settingsOfPage(page);
  const read = new Set(["scale", "causal", "normalizer", ...parametersOf(page, settings.normalizer).map(({ name }) => name)]);
  return Object.keys(before).filter((name) => read.has(name) && settings[name] !== before[name]).map((name) => [name, before[name], settings[name]]);
}

/** The text of a setting that is a number or a name: as it was typed, while that is its number. */
export function textOfSetting({ settings, typed }, name) {
  const text = typed[name];
  return text !== undefined && readTyped(text) === settings[name] ? text : String(settings[name]);
}

/** A setting as text, with a true minus. */
export function settingText(value) {
  return String(value).replaceAll("-", "−");
}
