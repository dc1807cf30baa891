/* The page: reads its object and draws its parts. */

import { consoleTools } from "./console.js";
import { makeState } from "./state.js";
import { drawStep } from "./step.js";

const page = JSON.parse(document.getElementById("content").textContent);
const state = makeState(page);
window.attnPage = consoleTools(state);
document.getElementById("heading").innerHTML = "<h1></h1>";
document.querySelector("h1").textContent = page.title;
drawStep(document.getElementById("step"), state);
