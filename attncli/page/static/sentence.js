/* The sentence itself: its words, coloured by the weights between each of them and the word that is pointed at. */

import { labelElement, make, moveFocus } from "./elements.js";
import { whyNoNumbers } from "./exercise.js";
import { drawLines } from "./lines.js";
import {
  changeSentence, largestNumber, NO_WORD, sentenceTable, weightsOfWord, weightText, wordInForce,
} from "./weights_table.js";

const MOST_NAMED = 3; // words that the sentence names, before it counts the others
const LONG_WORD = 8; // letters, beyond which the sentence has one more line
const MANY_WORDS = 20; // which stand closer

/** Draw the words, the sentence about one of them, and the lines between them. */
export function drawSentence(element, state) {
  state.update({ sentence: NO_WORD });
  const lines = make("div");
  const parts = { words: [], groups: make("div"), says: saysElement() };
  const draw = () => {
    const table = sentenceTable(state);
    element.hidden = table === null;
    if (table === null) return;
    drawWords(parts, table, state);
    parts.says.style.setProperty("--lines", linesOfSentence(table));
    const text = make("div", { class: "sentence-text" }, ...switches(table, state), parts.groups, parts.says);
    element.replaceChildren(make("h2", {}, "Who looks at whom"), make("div", { class: "sentence-body" }, text, lines));
    paintWords(parts, table, state);
  };
  state.listenAtRest((names) => {
    if (names.includes("nodes")) draw();
    else if (["values", "positions", "sentence", "pointed"].some((name) => names.includes(name))) {
      const table = sentenceTable(state);
      if (table !== null) paintWords(parts, table, state);
    }
  });
  draw();
  drawLines(lines, state);
}

/** How many lines the sentence has room for: always as many, so that nothing moves away from the pointer. */
function linesOfSentence({ rows, columns }) {
  const isLong = Math.max(rows.length, columns.length) > 2;
  return isLong ? 3 + [...rows, ...columns].some((label) => label.length > LONG_WORD) : 2;
}

function saysElement() {
  return make("p", { class: "sentence-says", "aria-live": "polite" });
}

/** The switches: which way to look, where queries and keys are the same words, and one head or the mean of all. */
function switches(table, state) {
  const { isMean, isReversed } = state.get().sentence;
  const ways = [["looks at", false], ["is looked at by", true]];
  const heads = [["this head", false], [`mean of all ${table.heads}`, true]];
  return [
    ...(table.isSelf ? [radios("A word", "isReversed", ways, isReversed, state)] : []),
    ...(table.heads > 1 ? [radios("in", "isMean", heads, isMean, state)] : []),
  ];
}

function radios(title, key, choices, chosen, state) {
  const inputs = choices.map(([label, value]) => {
    const input = make("input", {
      type: "radio", name: `sentence-${key}`, checked: value === chosen, onchange: () => changeSentence(state, { [key]: value }),
    });
    return make("label", {}, input, ` ${label}`);
  });
  const id = `sentence-${key}`;
  return make("div", { class: "choices", role: "radiogroup", "aria-labelledby": id }, make("span", { id }, title), make("div", {}, ...inputs));
}

/** Make the buttons of all words: one group of them, or one of queries and one of keys. */
function drawWords(parts, table, state) {
  const groups = table.isSelf
    ? [["query", table.rows, table.rowTokens, "Words"]]
    : [["query", table.rows, table.rowTokens, "Queries"], ["key", table.columns, table.columnTokens, "Keys"]];
  parts.words = [];
  const made = groups.map(([side, labels, tokens, title]) => {
    const buttons = labels.map((label, index) => wordButton(labelElement(label, tokens[index]), { side, index }, state));
    buttons[0].tabIndex = 0;
    parts.words.push(...buttons.map((button, index) => ({ button, word: { side, index } })));
    const group = make("div", {
      class: labels.length > MANY_WORDS ? "words are-many" : "words", role: "group", "aria-label": title, dir: directionOf(labels), onkeydown: (event) => moveFocus(buttons, event),
    }, ...buttons);
    return make("div", { class: "word-group" }, ...(table.isSelf ? [] : [make("h3", {}, title)]), group);
  });
  parts.groups.replaceChildren(...made);
}

function wordButton(label, word, state) {
  const isPinned = () => isSameWord(state.get().sentence.pinned, word);
  const point = () => changeSentence(state, { pointed: word });
  const leave = () => changeSentence(state, { pointed: null });
  return make(
    "button",
    {
      type: "button", class: "word", tabindex: "-1", "aria-pressed": "false",
      onmouseenter: point, onmouseleave: leave, onfocus: point, onblur: leave,
      onclick: () => changeSentence(state, { pinned: isPinned() ? null : word }),
      onkeydown: (event) => { if (event.key === "Escape") changeSentence(state, { pinned: null, pointed: null }); },
    },
    make("span", { class: "word-label" }, label),
    make("span", { class: "word-weight" }),
  );
}

/** Colour the words and write the weights under them and in the sentence. */
function paintWords({ words, says }, table, state) {
  const { page, sentence } = state.get();
  const word = wordInForce(state, table);
  const weights = word === null || table.data === null ? null : weightsOfWord(table, word);
  const largest = table.data === null ? 1 : Math.max(1, largestNumber(table.data)); // the shade is the weight
  for (const { button, word: own } of words) {
    const weight = weights !== null && isAcross(own, word, table) ? weights[own.index] : null;
    const [, under] = button.children;
    under.textContent = weight === null ? "" : weightText(weight, page.decimals);
    button.style.setProperty("--share", weight === null ? 0 : (Math.abs(weight) / largest) || 0);
    button.classList.toggle("is-chosen", isWord(own, word, table));
    button.setAttribute("aria-pressed", String(isSameWord(own, sentence.pinned)));
    if (weight === null) delete button.dataset.weight;
    else button.dataset.weight = weight;
  }
  says.replaceChildren(...sentenceAbout(word, weights, table, state));
  requestAnimationFrame(() => { says.tabIndex = says.scrollHeight > says.clientHeight ? 0 : -1; }); // who scrolls by keys can reach what does not fit
}

/** Whether a word stands on the side that the weights of the word in force belong to. */
function isAcross(own, word, table) {
  return table.isSelf || own.side !== word.side;
}

function isWord(own, word, table) {
  return word !== null && own.index === word.index && (table.isSelf || own.side === word.side);
}

function isSameWord(one, other) {
  return one !== null && other !== null && one.side === other.side && one.index === other.index;
}

/** "cat looks at sat 0.62, cat 0.35, the 0.03", as texts and elements. */
function sentenceAbout(word, weights, table, state) {
  if (table.data === null) return [whyNoNumbers(state.get(), table.name, "The weights follow from a change and can't be computed in this page.")];
  if (word === null) return [make("span", { class: "hint" }, "Point at a word, or walk to it with the arrow keys; a click keeps it.")];
  const { page, sentence, positions } = state.get();
  const isQuery = word.side === "query";
  const [own, ownTokens] = isQuery ? [table.rows, table.rowTokens] : [table.columns, table.columnTokens];
  const [labels, tokens] = isQuery ? [table.columns, table.columnTokens] : [table.rows, table.rowTokens];
  const order = [...weights.keys()].filter((at) => weights[at] !== 0).sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]) || a - b);
  const where = table.heads < 2 ? "" : sentence.isMean ? `Mean of ${table.heads} heads: ` : `Head ${positions.h}: `;
  const subject = make("b", {}, labelElement(own[word.index], ownTokens[word.index]));
  if (order.length === 0) return [where, subject, isQuery ? " looks at no word." : " is looked at by no word."];
  const named = order.slice(0, order.length === MOST_NAMED + 1 ? MOST_NAMED + 1 : MOST_NAMED);
  const others = order.slice(named.length);
  const parts = named.flatMap((at, place) => [
    place ? ", " : "", make("b", {}, labelElement(labels[at], tokens[at])), ` ${weightText(weights[at], page.decimals)}`,
  ]);
  const rest = others.reduce((sum, at) => sum + weights[at], 0);
  const tail = others.length ? `, and ${others.length} others, ${weightText(rest, page.decimals)} together` : "";
  return [where, subject, isQuery ? " looks at " : " is looked at by ", ...parts, tail];
}

/** The direction of a text of words: that of the first letter that has one. */
function directionOf(labels) {
  const letter = /[\p{L}]/u.exec(labels.join(" "));
  return letter !== null && /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/.test(letter[0]) ? "rtl" : "ltr";
}
