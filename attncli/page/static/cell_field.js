/* The field in a cell, in which its number is written anew. */

import { make } from "./elements.js";

/**
 * Open a field in a cell; it begins with a text, which is selected where it is that of the cell.
 *
 * Enter calls `accept` with what was written, which gives null, or what is wrong; that is then shown below the field.
 * Escape and leaving the field change nothing. `done` is called when the field is gone.
 */
export function openField(cell, text, isOwn, accept, done) {
  const content = [...cell.childNodes];
  const field = make("input", { type: "text", class: "cell-field", "aria-label": "New number", inputmode: "decimal", autocomplete: "off" });
  const error = make("span", { class: "field-error", role: "alert" });
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    cell.replaceChildren(...content);
    done();
  };
  field.value = text;
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key !== "Enter") return;
    const wrong = accept(field.value.trim());
    error.textContent = wrong ?? "";
    if (wrong !== null) placeBelow(error, cell);
    field.setAttribute("aria-invalid", String(wrong !== null));
    if (wrong === null) close();
  });
  cell.replaceChildren(field, error);
  field.focus();
  if (isOwn) field.select();
}

/** Put an element below a cell and on the screen; it is fixed there, as what scrolls the table would cut it. */
function placeBelow(element, cell) {
  const { left, bottom } = cell.getBoundingClientRect();
  element.style.top = `${bottom}px`;
  element.style.left = `${Math.max(Math.min(left, document.documentElement.clientWidth - element.offsetWidth), 0)}px`;
}
