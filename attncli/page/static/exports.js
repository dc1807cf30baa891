/* What can be taken from the page: a link to it, the command and the file of the changed problem, the table in view. */

import { commandOf } from "./changes_text.js";
import { copyText, pageStem, saveText } from "./clipboard.js";
import { make } from "./elements.js";
import { addressOf, hasAddress } from "./navigation.js";
import { tablePicture, whyNoPicture } from "./picture.js";
import { problemFile, whyNoFile } from "./problem_file.js";

/** The row of buttons, and below it what came of the one that was pressed. */
export function exportButtons(state) {
  const says = make("div", { class: "export-says", role: "status" });
  const button = (verb, noun, press) => make("button", { type: "button", "aria-label": `${verb} ${noun}`, onclick: press }, noun);
  const { page } = state.get();
  const link = button("Copy", "link", () => copyText(linkToPage(state.get()), "link", says));
  const groups = [
    ["Copy", ...(hasAddress() ? [link] : [])],
    ["Save", button("Save", "picture", () => savePicture(state.get(), says))],
  ];
  if (page.problem) {
    groups[0].push(button("Copy", "command", () => copyCommand(commandOf(state), says)));
    groups[1].splice(1, 0, button("Save", "YAML", () => saveProblem(state.get(), says)));
  }
  const row = groups.filter((group) => group.length > 1).map(([verb, ...buttons]) => make("div", { role: "group", "aria-label": verb }, make("span", {}, verb), ...buttons));
  return make("div", { class: "exports" }, make("div", { class: "export-row" }, ...row), says);
}

/** Copy the command; of one that reads a file which is not there yet, say so. */
async function copyCommand({ text, reason }, says) {
  await copyText(text, "command", says);
  if (reason !== null) says.append(" It reads the file that YAML saves: press that too.");
}

/** The address of the page as it is now. */
function linkToPage(now) {
  return `${location.href.split("#")[0]}${addressOf(now)}`;
}

function saveProblem(now, says) {
  const reason = whyNoFile(now);
  const name = `${pageStem()}-changed.yaml`;
  if (reason === null) saveText(problemFile(now), name, "application/yaml");
  says.replaceChildren(reason ?? `Saved as ${name}.`);
}

function savePicture(now, says) {
  const reason = whyNoPicture(now);
  const name = `${pageStem()}-${now.step}.svg`;
  if (reason === null) saveText(tablePicture(now), name, "image/svg+xml");
  says.replaceChildren(reason ?? `Saved as ${name}.`);
}
