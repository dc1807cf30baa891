/* The number of heads: the page with others, which share the same features. */

import { resizedNodes } from "./resized_page.js";

const OF_HEADS = ["d", "e", "c"]; // the letters of the features that heads share

/** The number of heads of the program. */
export function ownHeads({ source }) {
  return source.axes.h?.length ?? 1;
}

/** The page with another number of heads. */
export function pageOfHeads(page, heads) {
  const own = page.axes.h.length;
  const lengthOf = (letter, length) => (letter === "h" ? heads : OF_HEADS.includes(letter) ? (length * own) / heads : length);
  const resize = (letters, lengths) => (letters.includes("h") ? letters.map((letter, at) => lengthOf(letter, lengths[at])) : lengths);
  const nodes = resizedNodes(page.nodes, resize).map((node) => {
    const split = !("heads" in node.options) ? {} : {
      options: { ...node.options, heads },
      formula: node.formula.replace(`${own} heads`, `${heads} heads`),
      mathml: node.mathml.replace(`<mn>${own}</mn>`, `<mn>${heads}</mn>`),
    };
    const fits = (labels, at) => labels.length === 0 || labels.length === node.shape.at(at - 2);
    return { ...node, ...split, labels: node.labels.map((labels, at) => (fits(labels, at) ? labels : labels.slice(0, node.shape.at(at - 2)))) };
  });
  const labels = Array.from({ length: heads }, (_, at) => `${page.axes.h.noun} ${at}`);
  const axes = { ...page.axes, h: { ...page.axes.h, length: heads, labels } };
  const { scale } = page.heads.find((choice) => choice.heads === heads);
  const settings = { ...page.settings, scale: page.settings.scale === null ? null : { ...page.settings.scale, own: scale } };
  return { ...page, axes, nodes, settings };
}
