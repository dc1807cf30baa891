/* The page of a file with parts: a section for each with the tables of its results, and the problem of the open one. */

import { make } from "./elements.js";
import { addressOf, followAddress } from "./navigation.js";
import { drawOverview } from "./overview.js";
import { indicesOfSlices, nodeOf, sliceText } from "./slices.js";
import { makeState } from "./state.js";
import { stepTable } from "./step_table.js";
import { makeTable } from "./table.js";
import { themeSwitch } from "./theme.js";
import { documentPart, drawWorkbench, listenToWorkbench, showInConsole } from "./workbench.js";

const ALL_PARTS = "#parts"; // the address of the page with every part closed
const MOST_TABLES = 8; // of one result: of many heads the first

/** Draw the page of the parts from its object. */
export function drawProblemParts(page) {
  const states = page.parts.map((part) => makeState({ ...pageOfPart(page, part), guide: null }));
  let current = null; // the position of the part that is open
  const followed = new Set();
  const [selectors, workbench] = [documentPart("selectors"), documentPart("workbench")];
  const show = (at) => {
    if (current === at) return;
    current = at;
    sections.forEach(({ button }, position) => button.setAttribute("aria-expanded", String(position === at)));
    selectors.hidden = workbench.hidden = documentPart("print").hidden = at === null; // on paper, too, an open part has its steps
    if (at === null) return;
    sections[at].element.append(selectors);
    sections[at].element.after(workbench); // behind it, since it has landmarks of its own
    drawWorkbench(states[at]);
    drawOverview(documentPart("overview"), states[at]);
    showInConsole(states[at]);
    if (followed.has(at)) return;
    followed.add(at);
    followAddress(states[at], () => current === at);
  };
  const open = (at, place = {}) => {
    if (current !== at) history.pushState(null, "", followed.has(at) ? addressOf(states[at].get()) : `#part=${at + 1}`);
    show(at);
    states[at].update({ pointed: null, trail: [], ...place });
  };
  const close = () => {
    show(null);
    history.pushState(null, "", ALL_PARTS);
  };
  const sections = states.map((state, at) => partSection(state, Boolean(page.parts[at].guide), (place) => open(at, place), () => (current === at ? close() : open(at))));
  const goTo = (at) => {
    sections[at].title.scrollIntoView({ block: "start" });
    sections[at].title.focus({ preventScroll: true });
  };
  const links = page.parts.map(({ title }, at) => make("li", {}, make("a", { href: `#part=${at + 1}`, onclick: (event) => { event.preventDefault(); goTo(at); } }, title)));
  documentPart("heading").append(
    make("div", { class: "title-row" }, make("h1", {}, page.title), themeSwitch()),
    make("p", { class: "about" }, `${page.parts.length} parts · attn ${page.version}`),
    ...paragraphsAbout(page),
    make("nav", { class: "part-links", "aria-label": "Parts" }, make("ol", {}, ...links)),
  );
  const skip = document.querySelector(".skip-link");
  skip.textContent = "Go to the first part";
  documentPart("model").replaceWith(...sections.map(({ element }) => element));
  // Before those of the states: the part of the address is in view when they read the rest of it.
  addEventListener("popstate", () => show(partOfAddress(page)));
  selectors.hidden = workbench.hidden = documentPart("print").hidden = true;
  const named = partOfAddress(page);
  if (named !== null) { show(named); goTo(named); }
  listenToWorkbench(() => states[current ?? 0]);
  skip.addEventListener("click", (event) => { event.stopImmediatePropagation(); event.preventDefault(); goTo(current ?? 0); }, { capture: true });
}

/**
 * The page of the part whose story the address names, which is shown alone, without an address of the first that has
 * one; null where there is none. `next_story` is the number of the next part that has one, or null.
 */
export function partOfStory(page) {
  const told = page.parts.findIndex(({ guide }) => guide);
  const first = location.hash === "" && told >= 0 ? told : null;
  const at = new URLSearchParams(location.hash.slice(1)).has("stop") ? partOfAddress(page) : first;
  if (at === null) return null;
  const next = page.parts.slice(at + 1).find(({ guide }) => guide) ?? null;
  return { ...pageOfPart(page, page.parts[at]), next_story: next?.part ?? null };
}

/** A link from the story of a part to the page of all. */
export function linkToAllParts() {
  return anchorTo(ALL_PARTS, "← All parts");
}

/** A link to another place of this file, which is drawn anew. */
function anchorTo(address, text) {
  const go = (event) => { event.preventDefault(); drawAnew(address); };
  return make("a", { href: address, class: "part-link", onclick: go }, text);
}

/** Draw another place of this file. */
function drawAnew(address) {
  history.pushState(null, "", address);
  location.reload();
}

/** Go to the story of a part, by its number. */
export function goToStoryOf(part) {
  drawAnew(`#part=${part}&stop=0`);
}

/** The object of the page of a part, with what it shares with others. */
function pageOfPart({ nodes, plans }, part) {
  return { ...part, nodes, plans: part.plans.map((at) => plans[at]) };
}

/** The position of the part that the address names; null where it names none. */
function partOfAddress({ parts }) {
  const at = parts.findIndex(({ part }) => String(part) === new URLSearchParams(location.hash.slice(1)).get("part"));
  return at < 0 ? null : at;
}

/** What a page or a part is about, in paragraphs. */
function paragraphsAbout({ about }) {
  return about.split(/\n\s*\n/).filter((text) => text.trim() !== "").map((text) => make("p", { class: "part-about" }, text));
}

/** The section of a part: what it is about and the tables of its results, whose cells lead to their arithmetic. */
function partSection(state, hasStory, open, toggle) {
  const { page } = state.get();
  const title = make("h2", { tabindex: "-1" }, `${page.part}. ${page.title}`);
  const tables = make("div", { class: "linked-tables" });
  const button = make("button", { type: "button", "aria-expanded": "false", "aria-controls": "workbench", onclick: toggle }, "Every step, and how it is computed");
  const draw = () => tables.replaceChildren(...page.show.flatMap((name) => resultTables(state, name, open)));
  draw();
  state.listen((names) => { if (names.includes("values")) draw(); });
  const element = make(
    "section", { class: "part", id: `part-${page.part}`, "aria-label": page.title }, title,
    ...paragraphsAbout(page),
    make("p", { class: "note" }, page.pipeline),
    ...page.warnings.map((warning) => make("p", { class: "warning" }, make("strong", {}, "Warning: "), warning)),
    tables, make("div", { class: "part-buttons" }, button, ...(hasStory ? [anchorTo(`#part=${page.part}&stop=0`, "The way of one number")] : [])),
  );
  return { element, title, button };
}

/** The tables of a result, one for each head and batch item. */
function resultTables(state, name, open) {
  const now = state.get();
  const node = nodeOf(now, name);
  const value = now.values.get(name);
  if (node === null || value === undefined) return [];
  return indicesOfSlices(value).slice(0, MOST_TABLES).map((leading) => {
    const table = stepTable(now, node, leading);
    const positions = { ...now.positions, ...Object.fromEntries(node.axes.slice(0, -2).map((letter, axis) => [letter, leading[axis]])) };
    const made = makeTable(table, { point: () => {}, walk: () => {}, choose: (cell) => open({ step: name, cell, positions }) });
    return make("figure", { class: "heat-map linked" }, make("figcaption", {}, make("span", {}, `${name}${sliceText(now.page, node, leading)}`)), made.element);
  });
}
