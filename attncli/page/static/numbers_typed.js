/* Numbers as users type them: decimals, fractions, products, square roots and powers of e, as in problem files. */

const TOKEN = /\s*([0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?|\.[0-9]+(?:e[-+]?[0-9]+)?|sqrt|exp|pi|\S)/giy;
const LONGEST = 100; // characters; nobody types a longer number
const TYPED_FUNCTIONS = { sqrt: Math.sqrt, exp: Math.exp };
export const NUMBERS_TO_TYPE = "0.5, 1/3, sqrt(2) or exp(0)";

/**
 * The number that a text is, such as `0.5`, `-2`, `1/3` or `2*sqrt(3)`; null where it is none, or none that is finite.
 *
 * `*` and `/` apply from left to right, and `+` and `-` between terms stand in parentheses, as in problem files.
 */
export function readTyped(text) {
  const plain = text.trim().replaceAll("−", "-");
  if (plain === "" || plain.length > LONGEST) return null;
  const reader = { tokens: [...plain.matchAll(TOKEN)].map((match) => match[1].toLowerCase()), at: 0 };
  const value = readProduct(reader);
  return reader.at === reader.tokens.length && Number.isFinite(value) ? value : null;
}

/** The number that a text is, or the mistake that it has: {value} or {mistake}. */
export function readNumber(text, { least = null, above = null, isInteger = false } = {}) {
  const value = readTyped(text);
  if (value === null) return { mistake: `Write a number: ${NUMBERS_TO_TYPE}.` };
  if (isInteger && !Number.isInteger(value)) return { mistake: "Write a whole number." };
  if (least !== null && value < least) return { mistake: `Write a number that is at least ${least}.` };
  if (above !== null && value <= above) return { mistake: `Write a number above ${above}.` };
  return { value };
}

/** A text that is a number as it is kept: an expression as it was typed, a decimal number with the digits it needs. */
export function keptText(text) {
  const plain = text.trim().replaceAll("−", "-");
  return /[^-+.\de]/i.test(plain) ? plain : String(readTyped(plain));
}

function take(reader, ...choices) {
  return choices.includes(reader.tokens[reader.at]) ? reader.tokens[reader.at++] : null;
}

function readSum(reader) {
  let value = readProduct(reader);
  for (let sign = take(reader, "+", "-"); sign !== null; sign = take(reader, "+", "-")) {
    const term = readProduct(reader);
    value = sign === "+" ? value + term : value - term;
  }
  return value;
}

function readProduct(reader) {
  let value = readFactor(reader);
  for (let sign = take(reader, "*", "/"); sign !== null; sign = take(reader, "*", "/")) {
    const factor = readFactor(reader);
    value = sign === "*" ? value * factor : value / factor;
  }
  return value;
}

/** A factor with its sign; NaN, which no text stands for, where the next tokens are none. */
function readFactor(reader) {
  const sign = take(reader, "+", "-");
  if (sign !== null) return sign === "-" ? -readFactor(reader) : readFactor(reader);
  if (take(reader, "pi") !== null) return Math.PI;
  const name = take(reader, ...Object.keys(TYPED_FUNCTIONS));
  if (name !== null && reader.tokens[reader.at] !== "(") return NaN;
  if (take(reader, "(") !== null) {
    const value = readSum(reader);
    if (take(reader, ")") === null) return NaN;
    return name === null ? value : TYPED_FUNCTIONS[name](value);
  }
  return /^[0-9.]/.test(reader.tokens[reader.at] ?? "") ? Number(reader.tokens[reader.at++]) : NaN;
}
