/* Elements of the document, made of a tag, attributes and children. */

/**
 * An element with attributes and children.
 *
 * An attribute that is true stands without a value, one that is false or null is left out, and a function under
 * "onclick", "oninput" … listens to that event. Children are elements and texts; text is never read as markup.
 */
export function make(tag, attributes = {}, ...children) {
  return fillElement(document.createElement(tag), attributes, children);
}

/** An element of a drawing, as `make` makes those of the document. */
export function makeSvg(tag, attributes = {}, ...children) {
  return fillElement(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fillElement(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Move the focus in a group of buttons by a key, where only one of them is a stop of the tabulator key. */
export function moveFocus(buttons, event) {
  const at = buttons.indexOf(event.target.closest("button"));
  const isRightToLeft = at >= 0 && getComputedStyle(buttons[at].parentElement).direction === "rtl";
  const [previous, next] = isRightToLeft ? ["ArrowRight", "ArrowLeft"] : ["ArrowLeft", "ArrowRight"];
  const target = {
    [previous]: at - 1, [next]: at + 1, ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1,
  }[event.key];
  if (at < 0 || target === undefined) return;
  event.preventDefault();
  focusOne(buttons, Math.min(Math.max(target, 0), buttons.length - 1));
}

function focusOne(buttons, at) {
  buttons.forEach((button, position) => { button.tabIndex = position === at ? 0 : -1; });
  buttons[at].focus();
}

/** The symbol of a step; what follows `_` stands below. */
export function symbolElement(symbol) {
  const [letter, ...below] = symbol.split("_");
  return make("span", { class: "step-symbol" }, letter, ...(below.length ? [make("sub", {}, below.join("_"))] : []));
}

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
