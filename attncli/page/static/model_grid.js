/* The maps of all heads: a grid of layers and heads, or a list sorted by what they do, and a table of the numbers. */

import { colorScale } from "./color_scale.js";
import { make } from "./elements.js";
import { readValue } from "./values.js";

const MAP_DOTS = 64; // rows and columns of a picture; of more a dot has the largest of several weights
const LEAST_DECADE = -6; // the smallest weight that logarithmic colours tell from others, as a power of ten
const SHADES = 256; // colours of the dots of a picture
const BY_LAYER = "";

/**
 * The element with the maps of a page, and functions: `mark` shows which head is open, `focus` goes to it, `first` is
 * the head that is first in view. `open` is called with the head that is chosen.
 */
export function drawModelGrid(page, open) {
  const maps = new Map(page.heads.map((head) => [head, headMap(page, head)]));
  const shown = { sort: page.sort ?? BY_LAYER, kind: "", isLogarithmic: false };
  let [current, buttons] = [null, []];
  const grid = make("div", { class: "model-grid", role: "group", "aria-label": "Heads", onkeydown: (event) => moveInGrid(grid, buttons, event) });
  const table = make("div", { class: "table-scroller" });
  const note = make("p", { class: "hint", "aria-live": "polite" });
  const draw = () => {
    const heads = orderedHeads(page, shown);
    buttons = heads.map((head) => ({ head, button: headPicture(page, head, maps.get(head), shown, () => open(head)) }));
    const isGrid = shown.sort === BY_LAYER && shown.kind === "";
    grid.classList.toggle("is-list", !isGrid);
    grid.replaceChildren(...(isGrid ? gridRows(page, buttons, grid) : buttons.map(({ button }) => button)));
    table.replaceChildren(numbersTable(page, heads, open));
    note.textContent = gridNote(page, heads, shown);
    mark(current);
  };
  const mark = (head) => {
    current = head;
    const inView = buttons.some((each) => each.head === head) ? head : buttons[0]?.head;
    for (const each of buttons) {
      each.button.setAttribute("aria-pressed", String(each.head === head));
      each.button.tabIndex = each.head === inView ? 0 : -1;
    }
  };
  const choose = (changes) => { Object.assign(shown, changes); draw(); };
  draw();
  const details = make("details", { class: "model-table" }, make("summary", {}, "The numbers as a table"), table);
  return {
    element: make("div", { class: "model-heads" }, gridControls(page, shown, choose), note, grid, details),
    mark,
    focus: () => {
      const { button } = buttons.find(({ head }) => head === current) ?? buttons[0];
      button.scrollIntoView({ block: "center" });
      button.focus({ preventScroll: true });
    },
    first: () => buttons[0].head,
  };
}

/** The weights of a head as rows and columns. */
function headMap(page, { layer, head }) {
  const { weights } = page.layers[layer];
  weights.value ??= readValue([], weights); // of the whole layer, once
  const [rows, columns] = weights.shape.slice(-2);
  const size = rows * columns;
  return { rows, columns, data: weights.value.data.subarray(head * size, (head + 1) * size) };
}

/** The heads that are shown, in their order. */
function orderedHeads(page, { sort, kind }) {
  const chosen = page.heads.filter((head) => kind === "" || head.kind === kind);
  const isAscending = sort.startsWith("-");
  const name = sort.replace(/^-/, "");
  const numberOf = ({ statistics }) => (statistics[name] === null ? -Infinity : (isAscending ? -1 : 1) * statistics[name]);
  if (sort === BY_LAYER) return chosen.toSorted((a, b) => a.layer - b.layer || a.head - b.head);
  return chosen.toSorted((a, b) => numberOf(b) - numberOf(a));
}

/** The choices: by what heads are sorted, which kind is shown, and how small weights look. */
function gridControls(page, shown, choose) {
  const sorts = [[BY_LAYER, "layer and head"], ...page.statistics.map(({ name, title }) => [name, title])];
  const counts = new Map();
  for (const { kind } of page.heads) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([kind, count]) => [kind, `${kind} (${count})`]);
  const sort = choiceList("model-sort", sorts, shown.sort.replace(/^-/, ""), (value) => choose({ sort: value }));
  const kind = choiceList("model-kind", [["", `all ${page.heads.length} heads`], ...kinds], "", (value) => choose({ kind: value }));
  const logarithm = make("input", { type: "checkbox", id: "model-logarithm", onchange: () => choose({ isLogarithmic: logarithm.checked }) });
  return make(
    "div", { class: "selectors" },
    make("div", { class: "selector" }, make("label", { for: "model-sort" }, "Sort by"), sort),
    make("div", { class: "selector" }, make("label", { for: "model-kind" }, "Show"), kind),
    make("div", { class: "selector" }, logarithm, make("label", { for: "model-logarithm" }, "Logarithmic colours")),
  );
}

function choiceList(id, choices, value, onchoose) {
  const list = make("select", { id, onchange: () => onchoose(list.value) }, ...choices.map(([name, text]) => make("option", { value: name }, text)));
  list.value = value;
  return list;
}

/** What the order is, and what the colours mean. */
function gridNote(page, heads, { sort, isLogarithmic }) {
  const statistic = page.statistics.find(({ name }) => name === sort.replace(/^-/, ""));
  const order = statistic === undefined ? "" : `Sorted by ${statistic.title}${statistic.about === "" ? "" : ` (${statistic.about})`}. `;
  const colors = isLogarithmic ? `the colours are those of the logarithm, from 10 to the power of ${LEAST_DECADE}`.replace("-", "−") : "the colours are those of weights from 0 to 1";
  return `${order}Rows of a map are queries, columns keys; ${colors}. A click opens a head.`;
}

/** The rows of the grid: a line of the numbers of heads, and a layer in each other line. */
function gridRows(page, buttons, grid) {
  const numbers = [...new Set(page.heads.map(({ head }) => head))].sort((a, b) => a - b);
  grid.style.setProperty("--heads", numbers.length);
  const heading = [make("span", { class: "grid-corner" }), ...numbers.map((number) => make("span", { class: "grid-label", "aria-hidden": "true" }, String(number)))];
  const layers = page.layers.map(({ name }, layer) => {
    const own = buttons.filter(({ head }) => head.layer === layer);
    const cells = numbers.map((number) => own.find(({ head }) => head.head === number)?.button ?? make("span"));
    return own.length === 0 ? [] : [make("span", { class: "grid-label row-label", "aria-hidden": "true" }, name), ...cells];
  });
  return [...heading, ...layers.flat()];
}

/** A button with the map of a head and what it does. */
function headPicture(page, head, map, { sort, isLogarithmic, kind }, onclick) {
  const place = `layer ${page.layers[head.layer].name}, head ${head.head}`;
  const name = sort.replace(/^-/, "");
  const number = name !== BY_LAYER && head.statistics[name] !== null ? head.statistics[name].toFixed(2) : null;
  const isList = sort !== BY_LAYER || kind !== "";
  return make(
    "button", { type: "button", class: "model-head", "aria-pressed": "false", "aria-label": `${place}: ${head.label}${number === null ? "" : `, ${name} ${number}`}`, title: `${place}: ${head.label}`, onclick },
    ...(isList ? [make("span", { class: "model-place" }, `${page.layers[head.layer].name}.${head.head}${number === null ? "" : `  ${number}`}`)] : []),
    mapPicture(page, map, isLogarithmic),
    make("span", { class: "model-tag" }, head.label.replace(" token", "")),
  );
}

/** The map as a picture with a dot for each weight; 0 leaves the ground as it is. */
function mapPicture(page, map, isLogarithmic) {
  const pooled = pooledMap(map);
  const logarithmOf = (weight) => (weight > 0 ? Math.max(Math.log10(weight), LEAST_DECADE) : NaN);
  const data = pooled.data.map((weight) => (isLogarithmic ? logarithmOf(weight) : weight === 0 ? NaN : weight));
  const most = data.reduce((largest, x) => (x > largest ? x : largest), 1);
  const range = isLogarithmic ? { least: LEAST_DECADE, most: 0 } : { least: 0, most };
  const canvas = make("canvas", { width: pooled.columns, height: pooled.rows, "aria-hidden": "true" });
  const image = new ImageData(pooled.columns, pooled.rows);
  const dots = new Uint32Array(image.data.buffer);
  const palette = paletteOf(page);
  data.forEach((number, at) => {
    if (Number.isFinite(number)) dots[at] = palette[Math.max(Math.round(((number - range.least) / (range.most - range.least)) * (SHADES - 1)), 0)];
  });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** The colours of a page in SHADES steps, as numbers of four bytes: a model has very many dots. */
function paletteOf(page) {
  if (page.palette === undefined) {
    const colorOf = colorScale(page.colors, { least: 0, most: SHADES - 1 });
    const bytes = Array.from({ length: SHADES }, (_, at) => [...colorOf(at), 255]).flat();
    page.palette = new Uint32Array(Uint8ClampedArray.from(bytes).buffer);
  }
  return page.palette;
}

/** A map with at most MAP_DOTS rows and columns, each number the largest of a block of weights. */
function pooledMap({ rows, columns, data }) {
  if (Math.max(rows, columns) <= MAP_DOTS) return { rows, columns, data };
  const [height, width] = [Math.min(rows, MAP_DOTS), Math.min(columns, MAP_DOTS)];
  const pooled = new Float64Array(height * width);
  data.forEach((weight, at) => {
    const row = Math.floor((Math.floor(at / columns) * height) / rows);
    const to = row * width + Math.floor(((at % columns) * width) / columns);
    if (weight > pooled[to]) pooled[to] = weight;
  });
  return { rows: height, columns: width, data: pooled };
}

/** The numbers of the heads, a row each, whose name opens it. */
function numbersTable(page, heads, open) {
  const head = make("tr", {}, ...["head", "what it does", ...page.statistics.map(({ title }) => title)].map((title) => make("th", { scope: "col" }, title)));
  const rows = heads.map((each) => make(
    "tr", {},
    make("th", { scope: "row" }, make("button", { type: "button", class: "link", onclick: () => open(each) }, `${page.layers[each.layer].name}.${each.head}`)),
    make("td", {}, each.label),
    ...page.statistics.map(({ name }) => make("td", {}, each.statistics[name] === null ? "" : each.statistics[name].toFixed(2))),
  ));
  return make("table", { class: "model-numbers" }, make("caption", { class: "visually-hidden" }, "What each head does"), make("thead", {}, head), make("tbody", {}, ...rows));
}

/** Move the focus by the arrow keys: to the neighbour on the screen, above and below too. */
function moveInGrid(grid, buttons, event) {
  const all = buttons.map(({ button }) => button);
  const at = all.indexOf(event.target.closest("button"));
  const target = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key] ?? verticalNeighbour(all, at, event.key);
  if (at < 0 || target === null) return;
  event.preventDefault();
  const next = Math.min(Math.max(target, 0), all.length - 1);
  all.forEach((button, position) => { button.tabIndex = position === next ? 0 : -1; });
  all[next].focus();
}

/** The position of the button above or below; null for another key. */
function verticalNeighbour(all, at, key) {
  if (at < 0 || !["ArrowUp", "ArrowDown"].includes(key)) return null;
  const perLine = all.filter((button) => button.offsetTop === all[0].offsetTop).length;
  const next = at + (key === "ArrowUp" ? -perLine : perLine);
  return next < 0 || next >= all.length ? at : next;
}
