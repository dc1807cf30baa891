/* The table of a step that is to be filled in: a field for each blank, marked as right or wrong. */

import { make } from "../elements.js";
import { numberStyle, numberText } from "../numerals.js";
import { indexOfCell, leadingIndex, sliceLabels, sliceOf } from "../slices.js";
import { cellAfterKey } from "../table.js";
import { explanationOf, filledText, fillIn, isBlank, placeOfField, verdictOn } from "./answers.js";

const FIELD_SIGNS = { right: "✓", short: "…", wrong: "✗", unread: "?", empty: "" };

/** The table of the slice in view, of which some cells are fields. */
export function exerciseTable(state, node) {
  const now = state.get();
  const leading = leadingIndex(now.page, node, now.positions);
  const slice = sliceOf(now.answers.get(node.name), leading);
  const labels = sliceLabels(now.page, node, slice);
  const style = numberStyle(slice.data, now.page.decimals);
  const fields = new Map(); // by place in order of rows
  const cellAt = (row, column) => {
    const at = row * slice.columns + column;
    const index = indexOfCell(leading, node.axes.length, [row, column]);
    if (!isBlank(now, node.name, index)) return make("td", {}, numberText(slice.data[at], style));
    const name = [node.name, ...(node.axes.length < 2 ? [] : [labels.rows[row]]), labels.columns[column]].join(", ");
    const { element, field } = fieldOf(state, node.name, index, name, [row, column]);
    fields.set(at, field);
    return make("td", { class: "to-fill" }, element);
  };
  const positions = (count) => [...Array(count).keys()];
  const head = make("tr", {}, make("th", { scope: "col" }, node.axes.slice(-2).join("\\")), ...labels.columns.map((label) => make("th", { scope: "col" }, make("bdi", {}, label))));
  const body = positions(slice.rows).map((row) => make("tr", {}, make("th", { scope: "row" }, make("bdi", {}, labels.rows[row])), ...positions(slice.columns).map((column) => cellAt(row, column))));
  const table = make("table", {}, make("caption", { class: "visually-hidden" }, `${node.name}, to fill in`), make("thead", {}, head), make("tbody", {}, ...body));
  table.addEventListener("keydown", (event) => {
    const at = [...fields].find(([, field]) => field === event.target)?.[0];
    if (at === undefined) return;
    const next = event.key === "Enter" ? nextField(fields, at) : fieldAcross(event, fields, at, slice);
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
    next.select();
  });
  return make("div", { class: "exercise-table", tabindex: "0", role: "region", "aria-label": `${node.name}, to fill in` }, table);
}

/** The field after one, in the order of rows. */
function nextField(fields, at) {
  const order = [...fields.keys()];
  return fields.get(order[(order.indexOf(at) + 1) % order.length]);
}

/** The field above or below one. */
function fieldAcross(event, fields, at, { rows, columns }) {
  if (!["ArrowUp", "ArrowDown"].includes(event.key)) return undefined;
  const [row, column] = cellAfterKey(event, [Math.floor(at / columns), at % columns], rows, columns, 1);
  return fields.get(row * columns + column);
}

/** A field with its mark. What is right is marked as it is typed, what is wrong when the field is left. */
function fieldOf(state, step, index, name, cell) {
  const mark = make("span", { class: "fill-mark", "aria-hidden": "true" });
  const says = make("span", { class: "visually-hidden", role: "status", id: `says-${index.join("-")}` });
  const field = make("input", { type: "text", inputmode: "decimal", autocomplete: "off", id: `fill-${placeOfField(step, index)}`, "aria-label": name, "aria-describedby": says.id });
  const paint = (isLeft) => {
    const verdict = verdictOn(state.get(), step, index, field.value);
    const shown = isLeft || verdict === "right" ? verdict : "empty";
    const explanation = shown === "empty" ? "" : explanationOf(state.get(), step, index, field.value);
    mark.textContent = FIELD_SIGNS[shown];
    says.textContent = explanation;
    field.title = explanation;
    element.dataset.verdict = shown;
    field.setAttribute("aria-invalid", String(["wrong", "unread"].includes(shown)));
  };
  const fill = (isLeft) => {
    paint(isLeft);
    fillIn(state, step, index, field.value, isLeft);
  };
  field.addEventListener("input", () => fill(false));
  field.addEventListener("change", () => fill(true));
  field.addEventListener("blur", () => { if (state.get().typing === placeOfField(step, index)) fill(true); }); // the text of before is no change
  field.addEventListener("focus", () => state.update({ cell, pointed: null }));
  field.value = filledText(state.get(), step, index);
  const element = make("span", { class: "fill" }, field, mark, says);
  paint(true);
  return { element, field };
}
