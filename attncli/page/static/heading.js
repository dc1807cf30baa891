/* The heading of the page: its title, what it shows, what was set, what was left out, and warnings. */

import { make } from "./elements.js";
import { themeSwitch } from "./theme.js";

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
