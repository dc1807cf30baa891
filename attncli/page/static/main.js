/* The page: reads its object and draws its parts, of one problem, of the parts of a file, or of a model. */

import { make } from "./elements.js";
import { drawModel } from "./model.js";
import { followAddress } from "./navigation.js";
import { drawOverview } from "./overview.js";
import { drawParts } from "./parts.js";
import { drawProblemParts, linkToAllParts, partOfStory } from "./problem_parts.js";
import { makeState } from "./state.js";
import { themeSwitch } from "./theme.js";
import { documentPart, drawWorkbench, listenToWorkbench, showInConsole } from "./workbench.js";

/** Draw the heading. */
export function drawHeading(element, state) {
  const { page } = state.get();
  const about = make("p", { class: "about" }, countsOfPage(page));
  const title = make("h1", {}, page.title);
  state.listen((names) => {
    if (!names.includes("page")) return;
    about.textContent = countsOfPage(state.get().page);
    title.textContent = document.title = state.get().page.title;
  });
  element.append(
    make("div", { class: "title-row" }, title, themeSwitch()),
    about,
    ...(page.edits === "" ? [] : [make("p", { class: "note" }, `${page.edits}; the marks show what changed by it.`)]),
    ...page.left_out.map((sentence) => make("p", { class: "note" }, sentence)),
    ...page.warnings.map((warning) => make("p", { class: "warning" }, make("strong", {}, "Warning: "), warning)),
  );
}

/** The stages, and how many there are of what. */
function countsOfPage(page) {
  const counts = ["n", "m", "h", "b"].filter((letter) => page.axes[letter]).map((letter) => countText(page.axes[letter]));
  const pipeline = page.pipeline === page.title ? [] : [page.pipeline];
  return [...pipeline, ...counts, page.dtype, `attn ${page.version}`].join(" · ");
}

/** `1 head`, `4 queries`. */
function countText({ noun, length }) {
  const plural = noun.endsWith("query") ? noun.replace(/y$/, "ies") : `${noun}s`;
  return `${length} ${length === 1 ? noun : plural}`;
}

const page = JSON.parse(document.getElementById("content").textContent);
const problem = page.parts === undefined ? page : partOfStory(page);
if (page.layers !== undefined) {
  drawModel(page);
} else if (problem === null) {
  drawProblemParts(page);
} else {
  const state = makeState(problem);
  showInConsole(state);
  followAddress(state);
  drawHeading(documentPart("heading"), state);
  if (problem !== page) documentPart("heading").append(linkToAllParts());
  drawWorkbench(state);
  drawOverview(documentPart("overview"), state);
  listenToWorkbench(() => state);
  drawParts(state);
}
