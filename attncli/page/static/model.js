/* The page of a model: its heading, the maps of all heads, and below them the problem of the layer whose head is open. */

import { countOfNoun, make } from "./elements.js";
import { drawModelGrid } from "./model_grid.js";
import { showStep } from "./navigation.js";
import { makeState } from "./state.js";
import { themeSwitch } from "./theme.js";
import { changeSentence } from "./weights_table.js";
import { documentPart, drawWorkbench, listenToWorkbench, showInConsole } from "./workbench.js";

/** Draw the page of a model from its object. */
export function drawModel(page) {
  const states = new Map(); // of the layers that were opened, by their positions
  let current = null; // the head that is open
  const stateOf = (layer) => {
    if (!states.has(layer)) {
      const state = layerState(page, layer);
      states.set(layer, state);
      state.listen((names) => { if (names.includes("positions") && current.layer === layer) follow(layer, state.get().positions.h); });
    }
    return states.get(layer);
  };
  // The selector of the head beside the steps opens a head too.
  const follow = (layer, number) => {
    const chosen = page.heads.find((head) => head.layer === layer && head.head === number);
    if (chosen !== undefined && chosen !== current) show(chosen);
  };
  const title = make("h2", { tabindex: "-1" });
  const facts = make("p", { class: "head-facts" });
  const back = make("button", { type: "button", class: "link", onclick: () => grid.focus() }, "↑ All heads");
  const layers = make("select", { id: "select-layer", onchange: () => openLayer(Number(layers.value)) }, ...page.layers.map(({ name }, at) => make("option", { value: at }, name)));
  const openLayer = (layer) => show(page.heads.find((head) => head.layer === layer && head.head === current.head) ?? page.heads.find((head) => head.layer === layer) ?? current);
  const show = (head) => {
    const isOtherLayer = current?.layer !== head.layer;
    const before = current === null ? null : stateOf(current.layer).get();
    current = head;
    const state = stateOf(head.layer);
    const word = isOtherLayer ? carryOver(before, state) : null;
    if (state.get().positions.h !== head.head) state.update({ positions: { ...state.get().positions, h: head.head } });
    if (isOtherLayer) {
      drawWorkbench(state);
      showInConsole(state);
    }
    if (word !== null) changeSentence(state, word);
    title.textContent = `Layer ${page.layers[head.layer].name}, head ${head.head}: ${head.label}`;
    facts.textContent = headFacts(page, head);
    grid.mark(head);
    layers.value = String(head.layer);
    history.replaceState(null, "", `#head=${page.layers[head.layer].name}.${head.head}`);
  };
  const grid = drawModelGrid(page, (head) => {
    show(head);
    title.focus({ preventScroll: true });
    title.scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  });
  documentPart("heading").append(...modelHeading(page));
  documentPart("model").replaceChildren(grid.element, make("div", { class: "head-title" }, title, make("div", { class: "selector" }, make("label", { for: layers.id }, "Layer"), layers), back, facts));
  documentPart("workbench").before(documentPart("selectors"));
  show(headOfAddress(page) ?? grid.first());
  listenToWorkbench(() => stateOf(current.layer));
  addEventListener("hashchange", () => {
    const head = headOfAddress(page);
    if (head !== null && head !== current) show(head);
  });
}

/** The state of a layer: its template with its own numbers, at the weights. */
function layerState(page, layer) {
  const { template, weights, values } = page.layers[layer];
  const own = page.templates[template];
  const name = own.results[own.plans[0].results].weights;
  const node = own.plans[0].nodes.map((at) => own.nodes[at]).find((each) => each.name === name);
  const given = node.function === null ? { [name]: { shape: node.shape, data: weights.data } } : {};
  const state = makeState({ ...own, values: { ...values, ...given } });
  showStep(state, name);
  return state;
}

/** Show in a layer the step and the cell that were shown in another; the word of its sentence, null where it had none. */
function carryOver(before, state) {
  if (before === null || before.page.nodes !== state.get().page.nodes) return null;
  const { step, cell, sentence } = before;
  state.update({ step, cell });
  return sentence.pinned === null && !sentence.isMean && !sentence.isReversed ? null : { ...sentence, pointed: null };
}

function modelHeading(page) {
  const heads = Math.max(...page.heads.map(({ head }) => head)) + 1;
  const [rows, columns] = page.layers[0].weights.shape.slice(-2);
  const tokens = rows === columns ? `${columns} tokens` : `${rows} queries, ${columns} keys`;
  const about = [countOfNoun(page.layers.length, "layer"), countOfNoun(heads, "head"), tokens, `attn ${page.version}`];
  return [
    make("div", { class: "title-row" }, make("h1", {}, page.title), themeSwitch()),
    make("p", { class: "about" }, about.join(" · ")),
    ...page.left_out.map((sentence) => make("p", { class: "note" }, sentence)),
  ];
}

/** The statistics of a head in a line. */
function headFacts(page, { statistics }) {
  const known = page.statistics.filter(({ name }) => statistics[name] !== null);
  return known.map(({ name, title }) => `${title} ${statistics[name].toFixed(2)}`).join(" · ");
}

/** The head that the address names, `#head=3.5`; null where it names none. */
function headOfAddress(page) {
  const named = new URLSearchParams(location.hash.slice(1)).get("head");
  return page.heads.find(({ layer, head }) => `${page.layers[layer].name}.${head}` === named) ?? null;
}
