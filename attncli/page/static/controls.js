/* The controls: the scale, the parameters of the normalizer, causal and the normalizer, and what was changed. */

import { applyChange, hasPlan, resetAll, undo } from "./changes.js";
import { changeTexts, commandOf } from "./changes_text.js";
import { make } from "./elements.js";
import { exportButtons } from "./exports.js";
import { keptText, readNumber } from "./numbers_typed.js";
import { structureControls } from "./structure.js";
import { parametersOf, settingText, settingsOfPage, textOfSetting } from "./settings.js";

const DECADES = 1; // how many powers of ten a slider goes up and down from 1
const SLIDER_STEP = 0.05; // of the power: with three digits each step is another number

/** Draw the controls, or the sentence why nothing can be changed. */
export function drawControls(element, state) {
  const { page } = state.get();
  const title = make("h2", {}, "Change it");
  if (page.settings.can_compute !== true) {
    element.replaceChildren(title, make("p", { class: "hint" }, page.settings.can_compute), exportButtons(state));
    return;
  }
  const fields = fieldsOf(state);
  const log = logOf(state);
  const parameters = make("div", { class: "parameters" });
  const hint = make("p", { class: "hint" }, "Numbers of the inputs: double-click one in its table, or press F2 on it.");
  const rows = [...fields.map(({ row }) => row), ...(page.settings.normalizer === null ? [] : [parameters])];
  const controls = [hint, make("div", { class: "fields" }, ...rows), ...structureControls(state)];
  if (page.exercise) element.replaceChildren(make("details", { class: "other-exercise" }, make("summary", {}, "Make another exercise"), ...controls, log.element), exportButtons(state));
  else element.replaceChildren(title, ...controls, exportButtons(state), log.element);
  let [drawnFor, drawn] = [undefined, []];
  const paint = () => {
    const { settings } = state.get();
    if (settings.normalizer !== drawnFor) {
      drawnFor = settings.normalizer;
      drawn = parametersOf(page, drawnFor).map((parameter) => parameterField(parameter, state));
      parameters.replaceChildren(...drawn.map(({ row }) => row));
    }
    for (const field of [...fields, ...drawn]) field.paint(settings);
    log.paint();
  };
  state.listen((names) => { if (names.includes("settings")) paint(); });
  paint();
}

/** The controls that every problem of this page has. */
function fieldsOf(state) {
  const { settings } = state.get().page;
  return [
    ...(settings.scale === null ? [] : [scaleField(state)]),
    ...(settings.causal === null ? [] : [causalField(state)]),
    ...(settings.normalizer === null ? [] : [normalizerField(settings.normalizers, state)]),
  ];
}

function scaleField(state) {
  const read = (text) => (text.trim() === "" ? { value: null } : readNumber(text));
  const field = numberField({ name: "scale", title: "Scale", note: "empty: the score's own", read }, state);
  const paint = (settings) => {
    const { own } = state.get().page.settings.scale; // which follows the number of heads
    field.row.querySelector("input").placeholder = own === null ? "" : String(Number(own.toPrecision(4)));
    field.paint(settings);
  };
  return { row: field.row, paint };
}

function causalField(state) {
  const input = make("input", { type: "checkbox", id: "set-causal", onchange: () => applyChange(state, { settings: { causal: input.checked } }) });
  const row = make("div", { class: "field" }, make("label", { for: "set-causal" }, "Causal"), input);
  const paint = (settings) => {
    input.checked = settings.causal;
    input.disabled = !hasPlan(state, { ...settings, causal: !settings.causal });
  };
  return { row, paint };
}

function normalizerField(normalizers, state) {
  const options = normalizers.map(({ name }) => make("option", { value: name }, name));
  const list = make("select", { id: "set-normalizer", onchange: () => applyChange(state, { settings: { normalizer: list.value } }) }, ...options);
  const row = make("div", { class: "field" }, make("label", { for: "set-normalizer" }, "Normalizer"), list);
  const paint = (settings) => {
    list.value = settings.normalizer;
    for (const option of options) option.disabled = !hasPlan(state, { ...settings, normalizer: option.value });
  };
  return { row, paint };
}

/** A parameter of the normalizer: a number, and where any above 0 is allowed a slider of its powers of ten. */
function parameterField({ name, least, above, is_integer: isInteger }, state) {
  const title = name.length === 1 ? name : name[0].toUpperCase() + name.slice(1);
  const hasSlider = above === 0 && !isInteger;
  const slider = hasSlider ? sliderOf(name, title, state) : null;
  const read = (text) => readNumber(text, { least, above, isInteger });
  const field = numberField({ name, title, slider, read }, state);
  return {
    row: field.row,
    paint: (settings) => {
      field.paint(settings);
      if (slider === null) return;
      slider.value = String(Math.log10(settings[name]));
      slider.setAttribute("aria-valuetext", settingText(settings[name]));
    },
  };
}

function sliderOf(name, title, state) {
  const slider = make("input", {
    type: "range", min: -DECADES, max: DECADES, step: SLIDER_STEP, "aria-label": `${title}, slider`,
    oninput: () => applyChange(state, { settings: { [name]: Number((10 ** Number(slider.value)).toPrecision(3)) }, series: name }),
  });
  return slider;
}

/** A field for a number: what is typed is read when Enter is pressed or the field is left, and a mistake is told under it. */
function numberField({ name, title, read, note = "", slider = null }, state) {
  const id = `set-${name}`;
  const error = make("span", { class: "field-error" });
  const below = make("p", { class: "field-note", id: `${id}-note`, "aria-live": "polite" }, error, note);
  const commit = () => {
    const { value, mistake } = read(input.value);
    error.textContent = mistake === undefined ? "" : `${mistake} `;
    input.setAttribute("aria-invalid", String(mistake !== undefined));
    if (mistake !== undefined || value === state.get().settings[name]) return;
    applyChange(state, { settings: { [name]: value }, typed: value === null ? {} : { [name]: keptText(input.value) } });
  };
  const input = make("input", {
    type: "text", inputmode: "decimal", autocomplete: "off", id, "aria-describedby": below.id, onchange: commit,
  });
  const row = make("div", { class: "field" }, make("label", { for: id }, title), input, ...(slider ? [slider] : []), below);
  const paint = (settings) => {
    const text = settings[name] === null ? "" : settingText(textOfSetting(state.get(), name));
    if (input.getAttribute("aria-invalid") === "true" && document.activeElement === input) return; // what is typed stays
    input.value = text;
    input.setAttribute("aria-invalid", "false");
    error.textContent = "";
  };
  return { row, paint };
}

/** What was changed, what can't be computed after it, the command that makes the same, and the buttons that take it back. */
function logOf(state) {
  const { edits } = state.get().page; // the page begins with the numbers after them
  const [list, fixed, command] = [make("ul"), make("p", { class: "fixed-steps" }), make("p", { class: "command" })];
  const says = make("div", { "aria-live": "polite" }, list, fixed);
  const begins = edits === "" ? [] : [make("p", { class: "hint" }, `On the command line: ${edits}.`)];
  const back = make("button", { type: "button", onclick: () => undo(state) }, "Undo");
  const reset = make("button", { type: "button", onclick: () => resetAll(state) }, "Reset all");
  const element = make("div", { class: "log" }, ...begins, says, command, make("div", { class: "log-buttons" }, back, reset));
  const paint = () => {
    const texts = changeTexts(state);
    list.replaceChildren(...(texts.length ? texts : ["Nothing is changed."]).map((text) => make("li", {}, text)));
    fixed.textContent = fixedStepsText(state);
    command.replaceChildren(...commandLine(state, texts.length > 0));
    back.disabled = state.get().history.length === 0;
    reset.disabled = texts.length === 0 && JSON.stringify(state.get().settings) === JSON.stringify(settingsOfPage(state.get().page));
  };
  return { element, paint };
}

function fixedStepsText(state) {
  const names = state.get().nodes.map(({ name }) => name).filter((name) => state.get().fixed.has(name));
  const reasons = state.get().nodes.filter((node) => state.get().fixed.has(node.name) && node.why_no_program);
  const why = reasons.map((node) => ` ${node.name}: ${node.why_no_program}.`).join("");
  return names.length ? `After this change the page can't compute ${names.join(", ")}: there is no number.${why}` : "";
}

/** The command that makes the same; where it is that of a file which is to be saved first, why. */
function commandLine(state, isChanged) {
  if (!isChanged) return [];
  const { words, reason } = commandOf(state);
  const code = make("code", {}, ...words.flatMap((word, at) => [at ? " " : "", make("span", {}, word)])); // a line ends between words
  return [reason === null ? "The same on the command line: " : `${reason} Save it as YAML first: this reads that file, and gives the same: `, code];
}
