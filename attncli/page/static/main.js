/* The page: reads its object and draws its parts, of one problem, of the parts of a file, or of a model. */

import { followAddress } from "./navigation.js";
import { drawHeading } from "./heading.js";
import { drawModel } from "./model.js";
import { drawProblemParts, linkToAllParts, partOfStory } from "./problem_parts.js";
import { drawOverview } from "./overview.js";
import { drawParts } from "./parts.js";
import { makeState } from "./state.js";
import { drawWorkbench, listenToWorkbench, documentPart, showInConsole } from "./workbench.js";

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
