/* The page of a check: the verdict, the reason, the map of errors of the step that differs first, and its worst cell. */

import { drawErrorMap } from "./check_map.js";
import { make } from "../elements.js";
import { drawReportHeading, textBlocks, verdictElement } from "./report_parts.js";

const STATE_SIGNS = { agrees: "✓", differs: "✗", failed: "✗", unanswered: "✗", unchecked: "·" };
const check = JSON.parse(document.getElementById("content").textContent);
const isSingle = check.outcomes.length === 1 && check.summary.length === 0;

drawReportHeading(check, []);
document.getElementById("report").append(
  ...(isSingle ? [] : [make("div", { class: "summary" }, ...textBlocks(check.summary)), outcomeList()]),
  ...check.outcomes.flatMap((outcome, at) => (isSingle || outcome.state !== "agrees" ? [outcomeSection(outcome, at)] : [])),
);
if (location.hash !== "") document.querySelector(`#${CSS.escape(location.hash.slice(1))}`)?.scrollIntoView();

/** A line for each of several problems, which leads to its section where it has one. */
function outcomeList() {
  return make("ol", { class: "outcomes" }, ...check.outcomes.map((outcome, at) => make(
    "li", { class: outcome.state }, make("span", { class: "sign", "aria-hidden": "true" }, STATE_SIGNS[outcome.state]),
    outcome.state === "agrees" ? make("span", {}, outcome.name) : make("a", { href: `#part-${at + 1}` }, outcome.name),
    make("span", { class: "outcome-line" }, outcome.line),
  )));
}

/** The section of a problem: its verdict large, why, where, and the quantities in order. */
function outcomeSection(outcome, at) {
  const heading = isSingle ? "h2" : "h3";
  const section = make(
    "section", { class: `outcome ${outcome.state}`, id: `part-${at + 1}`, "aria-label": outcome.name },
    ...(isSingle ? [] : [make("h2", {}, outcome.name)]),
    verdictElement(outcome.verdict, STATE_SIGNS[outcome.state]),
    ...textBlocks(outcome.edits),
    ...textBlocks(outcome.reason),
  );
  if (outcome.map !== null) section.append(...drawErrorMap(check, outcome.map, heading));
  if (outcome.quantities.length > 0) section.append(make(heading, {}, "In the order of the computation"), make("div", { class: "quantities" }, ...textBlocks(outcome.quantities)));
  if (outcome.report.length > 0) section.append(make("details", { class: "in-words" }, make("summary", {}, "The whole report in words"), ...textBlocks(outcome.report)));
  return section;
}
