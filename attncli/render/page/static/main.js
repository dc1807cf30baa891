/* The page: reads its object and draws its parts, of one problem or of a model. */

import { followAddress } from "./navigation.js";
import { drawHeading } from "./heading.js";
import { drawModel } from "./model.js";
import { drawOverview } from "./overview.js";
import { drawParts } from "./parts.js";
import { makeState } from "./state.js";
import { drawWorkbench, listenToWorkbench, documentPart, showInConsole } from "./workbench.js";

const page = JSON.parse(document.getElementById("content").textContent);
if (page.layers !== undefined) {
  drawModel(page);
} else {
  const state = makeState(page);
  showInConsole(state);
  followAddress(state);
  drawHeading(documentPart("heading"), state.get());
  drawWorkbench(state);
  drawOverview(documentPart("overview"), state);
  listenToWorkbench(() => state);
  drawParts(state);
}
