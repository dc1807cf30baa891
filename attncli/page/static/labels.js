/* Labels of tokens as elements, where the number of one of several equal tokens stands back, names of steps, and counts. */

import { make } from "./elements.js";

/** A label, such as `the#2`; `token` is the token as the user has it, of which the label has the number of its place. */
export function labelElement(label, token) {
  const isNumbered = token !== undefined && label !== token && label.startsWith(`${token}#`);
  return isNumbered
    ? make("bdi", {}, token, make("span", { class: "label-number" }, label.slice(token.length)))
    : make("bdi", {}, label);
}

/** `1 row`, `4 columns`. */
export function countOfNoun(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Names of steps, a list of strings and elements: lines may be broken after each `_`. */
export function brokenNames(names) {
  return names.join(", ").split(/(?<=_)/).flatMap((part, at) => (at === 0 ? [part] : [make("wbr"), part]));
}
