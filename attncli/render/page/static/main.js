/* The page: reads its object and draws its parts, of one problem, of the parts of a file, or of a model. */

import { drawExercise } from "./exercise_bar.js";
import { followAddress } from "./navigation.js";
import { drawHeading } from "./heading.js";
import { drawModel } from "./model.js";
import { drawProblemParts } from "./problem_parts.js";
import { drawOverview } from "./overview.js";
import { drawParts } from "./parts.js";
import { makeState } from "./state.js";
import { drawWorkbench, listenToWorkbench, documentPart, showInConsole } from "./workbench.js";

const page = JSON.parse(document.getElementById("content").textContent);
if (page.layers !== undefined) {
  drawModel(page);
} else if (page.parts !== undefined) {
  drawProblemParts(page);
} else {
  const state = makeState(page);
  showInConsole(state);
  followAddress(state);
  drawHeading(documentPart("heading"), state);
  drawExercise(documentPart("exercise"), state);
  drawWorkbench(state);
  drawOverview(documentPart("overview"), state);
  listenToWorkbench(() => state);
  drawParts(state);
}
