/* All heads as small pictures of their weights; a click on one brings the head into view. */

import { colorScale } from "./color_scale.js";
import { make, moveFocus } from "./elements.js";
import { whyNoNumbers } from "./exercise.js";
import { largestNumber, meanEntropy, weightText, weightsTable } from "./weights_table.js";

const MOST_PICTURES = 64; // of heads of all batch items; where there are more, those of the batch item in view
const LARGEST_SIDE = 112; // pixels of a picture's longer side
const LARGEST_CELL = 20; // pixels of a cell of a small table

/** Draw a picture of each head. */
export function drawOverview(element, state) {
  const grid = make("div", { class: "overview-grid", role: "group", "aria-label": "Heads", onkeydown: (event) => moveFocus([...grid.children], event) });
  const title = make("h2");
  const note = make("p", { class: "hint" });
  element.replaceChildren(title, note, grid);
  let pictures = [];
  const draw = () => {
    const places = placesOf(state);
    const tables = places.map((place) => weightsTable(state, false, place));
    element.hidden = places.length < 2 || tables[0] === null;
    if (element.hidden) return;
    const isKnown = tables[0].data !== null;
    const largest = isKnown ? Math.max(1, ...tables.map(({ data }) => largestNumber(data))) : 1;
    title.textContent = tables[0].heads ? "All heads" : "All batch items";
    note.textContent = isKnown
      ? `Each row is a query, each column a key; the strongest colour is ${weightText(largest, state.get().page.decimals)}.`
      : whyNoNumbers(state.get(), tables[0].name, "The weights follow from a change and can't be computed in this page.");
    pictures = isKnown ? places.map((place, at) => ({ place, button: pictureOf(place, tables[at], largest, state) })) : [];
    grid.replaceChildren(...pictures.map(({ button }) => button));
    mark();
  };
  const mark = () => {
    const { positions } = state.get();
    for (const { place, button } of pictures) {
      const isInView = Object.entries(place).every(([letter, at]) => positions[letter] === at);
      button.setAttribute("aria-pressed", String(isInView));
      button.tabIndex = isInView ? 0 : -1;
    }
  };
  state.listenAtRest((names) => {
    const isOtherItem = names.includes("positions") && pictures.length > 0 && !pictures.some(({ place }) => (place.b ?? 0) === (state.get().positions.b ?? 0));
    if (names.includes("values") || isOtherItem) draw();
    else if (names.includes("positions")) mark();
  });
  draw();
}

/** The positions that have a picture: of all batch items and heads, or of the batch item in view where they are many. */
function placesOf(state) {
  const { page, positions } = state.get();
  const lengthOf = (letter) => page.axes[letter]?.length ?? 1;
  const items = lengthOf("b") * lengthOf("h") > MOST_PICTURES ? [positions.b ?? 0] : [...Array(lengthOf("b")).keys()];
  return items.flatMap((b) => Array.from({ length: lengthOf("h") }, (_, h) => ({ b, h })));
}

/** A button with the picture of a head, its name, and what stands out in it. */
function pictureOf(place, table, largest, state) {
  const { page } = state.get();
  const named = Object.entries(place).filter(([letter]) => (page.axes[letter]?.length ?? 1) > 1);
  const names = named.map(([letter, at]) => page.axes[letter].labels[at]);
  const strongest = strongestOf(table);
  const weight = weightText(table.data[strongest.at], page.decimals);
  const entropy = meanEntropy(table);
  const spread = entropy === null ? "" : `, the mean entropy of a row ${entropy.toFixed(2)}`;
  return make(
    "button",
    {
      type: "button", class: "picture", "aria-pressed": "false",
      "aria-label": `${names.join(", ")}: the largest weight is ${weight}, ${strongest.row} to ${strongest.column}${spread}`,
      onclick: () => state.update({ positions: { ...state.get().positions, ...place } }),
    },
    make("span", {}, names.join(" · ")),
    canvasOf(table, largest, page.colors),
    make("span", { class: "picture-fact" }, entropy === null ? `max ${weight}` : `entropy ${entropy.toFixed(2)}`),
  );
}

function strongestOf({ data, rows, columns }) {
  const at = data.reduce((best, x, index) => (x > data[best] ? index : best), 0);
  return { at, row: rows[Math.floor(at / columns.length)], column: columns[at % columns.length] };
}

/** The weights as pixels, one for each, which the style sheet enlarges; no weight leaves the ground as it is. */
function canvasOf({ data, rows, columns }, largest, colors) {
  const colorOf = colorScale(colors, { least: 0, most: largest });
  const canvas = make("canvas", { width: columns.length, height: rows.length, "aria-hidden": "true" });
  const side = Math.min(LARGEST_CELL, LARGEST_SIDE / Math.max(rows.length, columns.length));
  canvas.style.width = `${Math.max(columns.length * side, 4)}px`;
  canvas.style.height = `${Math.max(rows.length * side, 4)}px`;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns.length, rows.length);
  data.forEach((weight, at) => {
    if (Number.isFinite(weight) && weight !== 0) image.data.set([...colorOf(Math.abs(weight)), 255], 4 * at);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}
