/* The page: reads its object and draws its parts. */

import { consoleTools } from "./console.js";
import { drawControls } from "./controls.js";
import { drawHeading } from "./heading.js";
import { followAddress, goBack } from "./navigation.js";
import { drawOverview } from "./overview.js";
import { printAll } from "./print.js";
import { drawSelectors } from "./selectors.js";
import { drawSentence } from "./sentence.js";
import { makeState } from "./state.js";
import { drawStepList } from "./step_list.js";
import { drawStep } from "./step.js";

const page = JSON.parse(document.getElementById("content").textContent);
const state = makeState(page);
const part = (name) => document.getElementById(name);
window.attnPage = consoleTools(state); // for tests, and for whoever opens the console
followAddress(state);
drawHeading(part("heading"), state.get());
drawSelectors(part("selectors"), state);
drawStepList(part("step-list"), state);
drawStep(part("step"), state);
drawSentence(part("sentence"), state);
drawOverview(part("overview"), state);
drawControls(part("controls"), state);
printAll(part("print"), state);
document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault();
  part("step").focus();
});
part("step").addEventListener("keydown", (event) => {
  if (!["Escape", "Backspace"].includes(event.key) || event.target.closest("input, select")) return;
  event.preventDefault();
  goBack(state);
});
