/* The list of steps in order, inputs first, each with a small picture. */

import { hasChanged } from "./changed.js";
import { brokenNames, make, symbolElement } from "./elements.js";
import { showStep } from "./navigation.js";
import { nodeOf } from "./slices.js";
import { sectionOf, sectionsOf, titleOfUnnumbered } from "./step_order.js";
import { thumbnail } from "./thumbnail.js";

/** Draw the list of steps, and again whenever one of them changes. */
export function drawStepList(element, state) {
  const draw = () => {
    const sections = sectionsOf(state.get());
    const ofGroup = (title) => sections.filter((section) => groupOf(state.get(), section) === title);
    const groups = [titleOfUnnumbered(state.get()), "Steps", "Gradients"].map((title) => [title, ofGroup(title)]);
    element.replaceChildren(...groups.filter(([, of]) => of.length).flatMap(([title, of]) => [
      make("h2", {}, title), make("ol", {}, ...of.map((section) => make("li", {}, linkTo(state, section)))),
    ]));
    mark();
  };
  const mark = () => {
    const current = sectionOf(state.get(), state.get().step);
    for (const link of element.querySelectorAll("a")) {
      const isCurrent = link.dataset.step === current?.names[0];
      if (isCurrent) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
      if (isCurrent) revealIn(element, link);
    }
  };
  state.listenAtRest((names) => {
    if (names.some((name) => ["nodes", "values", "positions"].includes(name))) draw();
    else if (names.includes("step")) mark();
  });
  new ResizeObserver(mark).observe(element); // as the heading grows, and with the window
  draw();
}

/** The title of the group that a section stands in. */
function groupOf(now, { number, names }) {
  if (number === null) return titleOfUnnumbered(now);
  return nodeOf(now, names[0]).stage === "gradient" ? "Gradients" : "Steps";
}

/** A link to a step: its picture, number, name and symbol. */
function linkTo(state, { number, names }) {
  const now = state.get();
  const node = nodeOf(now, names[0]);
  const value = now.values.get(node.name);
  const isChanged = hasChanged(now, node.name);
  const show = (event) => {
    event.preventDefault();
    showStep(state, node.name);
  };
  return make(
    "a", { href: `#step=${encodeURIComponent(node.name)}`, "data-step": node.name, onclick: show },
    make("span", { class: "step-picture" }, value === undefined ? "—" : thumbnail(now.page, node, value, now.positions)),
    make("span", { class: "step-label", title: names.join(", ") }, ...(number === null ? [] : [make("span", { class: "step-number" }, `${number}. `)]), ...brokenNames(names)),
    ...(isChanged ? [make("span", { class: "change-mark", title: "changed" }, "◆", make("span", { class: "visually-hidden" }, " changed"))] : []),
    symbolElement(node.symbol),
  );
}

/** Scroll the list, and nothing else, so that a link is in view, and with it those beside it. */
function revealIn(list, link) {
  const [box, own] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  const beside = own.height;
  if (own.top - beside < box.top) list.scrollTop -= box.top - own.top + beside;
  else if (own.bottom + beside > box.bottom) list.scrollTop += own.bottom + beside - box.bottom;
  if (own.left < box.left) list.scrollLeft -= box.left - own.left;
  else if (own.right > box.right) list.scrollLeft += own.right - box.right;
}
