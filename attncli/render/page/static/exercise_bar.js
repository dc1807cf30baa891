/* The line above an exercise: what is to be filled in, how many are right, and the key on demand. */

import { make } from "./elements.js";
import { countOfRight, showKey } from "./exercise.js";
import { showStep } from "./navigation.js";

/** Draw the line where the page is an exercise. */
export function drawExercise(element, state) {
  const { page } = state.get();
  if (!page.exercise) return;
  const count = make("span", { class: "exercise-count", role: "status" });
  const key = make("button", { type: "button", "aria-pressed": "false", onclick: () => showKey(state, !state.get().isKeyShown) }, "Show the key");
  const links = page.exercise.answers.map((step) => ({ step, link: make("button", { type: "button", onclick: () => showStep(state, step) }) }));
  const ask = `Fill in, to ${page.decimals} decimals; 1/3 and sqrt(2) are numbers too:`;
  element.replaceChildren(make("h2", {}, "Exercise"), make("p", {}, ask), ...links.map(({ link }) => link), count, key);
  const paint = () => {
    const now = state.get();
    const { right, all } = countOfRight(now);
    count.textContent = right === all ? `All ${all} are right.` : `${right} of ${all} right`;
    key.textContent = now.isKeyShown ? "Hide the key" : "Show the key";
    key.setAttribute("aria-pressed", String(now.isKeyShown));
    for (const { step, link } of links) {
      const own = now.answers.has(step) ? countOfRight(now, [step]) : { right: 0, all: 0 };
      link.textContent = `${step} ${own.right}/${own.all}`;
      if (now.step === step) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    }
  };
  state.listen((names) => { if (["fills", "values", "isKeyShown", "step"].some((name) => names.includes(name))) paint(); });
  paint();
}
