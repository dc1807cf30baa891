/* The controls of a comparison: the result, the head, the variant that others are compared with, and sliders. */

import { make } from "../elements.js";

/** Draw the controls; they stay as they are where what they choose from is drawn already. */
export function comparisonControls(element, comparison, shown, choose) {
  if (element.childElementCount === 0 || element.dataset.result !== String(shown.result) || element.dataset.together !== String(shown.isTogether)) {
    element.dataset.result = shown.result;
    element.dataset.together = shown.isTogether;
    const focused = document.activeElement?.id;
    element.replaceChildren(...controlsOf(comparison, shown, choose));
    if (focused) document.getElementById(focused)?.focus();
  }
  for (const control of element.querySelectorAll("[data-key]")) showValue(control, comparison, shown);
}

function controlsOf(comparison, shown, choose) {
  const { results, variants } = comparison;
  const slices = results[shown.result].tables.find((own) => own.length > 0).map(({ label }) => label);
  const controls = [];
  if (results.length > 1) controls.push(list("result", "Result", results.map(({ name }) => name), shown.result, (result) => choose({ result, slice: 0, cell: null })));
  if (slices.length > 1) controls.push(list("slice", "Slice", slices, shown.slice, (slice) => choose({ slice })));
  if (variants.length > 2) {
    controls.push(list("baseline", "Compared with", variants.map(({ title }) => title), shown.baseline, (baseline) => choose({ baseline })));
    const box = make("input", { type: "checkbox", id: "together", onchange: () => choose({ isTogether: box.checked }) });
    box.checked = shown.isTogether;
    controls.push(make("div", { class: "selector" }, box, make("label", { for: "together" }, `All ${variants.length} side by side`)));
    if (!shown.isTogether) controls.push(...keyControls(comparison, shown, choose));
  }
  return controls;
}

function list(id, label, texts, value, onchoose) {
  const select = make("select", { id, onchange: () => onchoose(Number(select.value)) }, ...texts.map((text, at) => make("option", { value: at }, text)));
  select.value = String(value);
  return make("div", { class: "selector" }, make("label", { for: id }, label), select);
}

/** A slider for each key whose values are numbers, a list for others; of variants without keys one list of them. */
function keyControls(comparison, shown, choose) {
  const { keys, variants } = comparison;
  const several = keys.filter(({ values }) => values.length > 1);
  if (several.length === 0) return [list("variant", "Variant", variants.map(({ title }) => title), shown.variant, (variant) => choose({ variant }))];
  return several.map((key, at) => {
    const go = (position) => choose({ variant: variantWith(comparison, shown.variant, key.name, key.values[position]) });
    const id = `key-${at}`;
    if (key.numbers === null) {
      const control = list(id, key.name, key.values, 0, go);
      control.querySelector("select").dataset.key = at;
      return control;
    }
    const slider = make("input", { type: "range", id, min: 0, max: key.values.length - 1, step: 1, "data-key": at, oninput: () => go(orderOf(key)[Number(slider.value)]) });
    return make("div", { class: "selector slider" }, make("label", { for: id }, key.name), slider, make("output", { for: id }));
  });
}

/** The positions of the values of a key, from the least number to the largest. */
function orderOf({ numbers }) {
  return [...numbers.keys()].sort((a, b) => numbers[a] - numbers[b]);
}

/** The variant that has another value of one key, and is otherwise as the one in view; the first that has it, else. */
function variantWith({ variants }, current, name, value) {
  const wanted = { ...variants[current].keys, [name]: value };
  const exact = variants.findIndex(({ keys }) => Object.entries(wanted).every(([key, text]) => keys[key] === text));
  return exact >= 0 ? exact : variants.findIndex(({ keys }) => keys[name] === value);
}

/** Show in a control the value of the variant in view. */
function showValue(control, { keys, variants }, shown) {
  const key = keys[Number(control.dataset.key)];
  const text = variants[shown.variant].keys[key.name] ?? "";
  const at = key.values.indexOf(text);
  if (key.numbers === null) { control.value = String(at); return; }
  control.value = String(orderOf(key).indexOf(at));
  control.setAttribute("aria-valuetext", `${key.name} ${text}`);
  control.nextElementSibling.textContent = text;
}
