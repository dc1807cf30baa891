/* The parts that reports have in common: the heading, and blocks of text. */

import { make } from "../elements.js";
import { themeSwitch } from "../theme.js";

/** Draw the heading of a report: its title and texts of what it is about. */
export function drawReportHeading(page, about) {
  document.getElementById("heading").append(
    make("div", { class: "title-row" }, make("h1", {}, page.title), themeSwitch()),
    make("p", { class: "about" }, [...about, `attn ${page.version}`].join(" · ")),
  );
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("report").focus();
  });
}

/** The verdict: what comes first large, what follows a semicolon in smaller type. */
export function verdictElement(text, sign = "") {
  const [first, ...others] = text.split("; ");
  const mark = sign === "" ? [] : [make("span", { class: "sign", "aria-hidden": "true" }, `${sign} `)];
  return make("p", { class: "verdict" }, ...mark, first, ...others.map((part) => make("span", { class: "verdict-more" }, `; ${part}`)));
}

/** Elements of blocks of text: statements, lines of text or of arithmetic, and names with a text. */
export function textBlocks(blocks) {
  return blocks.map((block) => {
    if (block.kind === "statement") return make("p", { class: `statement ${block.style}` }, make("strong", {}, block.start), block.rest);
    if (block.kind === "pairs") return make("dl", { class: "reasons" }, ...block.pairs.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
    return make("div", { class: block.is_mathematics ? "text-lines arithmetic" : "text-lines" }, ...block.lines.map((line) => make("p", {}, line)));
  });
}
