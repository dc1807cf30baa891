/* Colours of numbers, with black or white text on them: weights from 0 to 1, others around 0, which is the paper. */

/**
 * The range of the colours of a step's value: of all its finite numbers, so that heads can be compared.
 *
 * Weights have colours from 0 to 1, or to the largest; of others the numbers on both sides of 0 have the
 * same strength. A value without a finite number has no range.
 */
export function rangeOf(node, value) {
  let [least, most] = [Infinity, -Infinity];
  for (const number of value.data) {
    if (!Number.isFinite(number)) continue;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  if (least > most) return null;
  if (node.name === "weights" && least >= 0) return { least: 0, most: Math.max(most, 1), isSigned: false };
  const strongest = Math.max(-least, most) || 1;
  return { least: least < 0 ? -strongest : 0, most: most > 0 || least >= 0 ? strongest : 0, isSigned: true };
}

/** The colours of a range: on light paper, or on dark ground. */
export function colorsOf(page, range, isDark = false) {
  if (!range.isSigned) return page.colors;
  const colors = page.signed_colors[isDark ? "dark" : "light"];
  const middle = Math.floor(colors.length / 2);
  return colors.slice(range.least < 0 ? 0 : middle, range.most > 0 ? colors.length : middle + 1);
}

/** The style of a cell with a number: its colour and that of its text, on light paper and on dark ground. */
export function cellStyle(page, range) {
  const scales = [false, true].map((isDark) => colorScale(colorsOf(page, range, isDark), range));
  return (number) => {
    const [light, dark] = scales.map((scale) => scale(number));
    return { background: lightDark(cssColor(light), cssColor(dark)), color: lightDark(textColorOn(light), textColorOn(dark)) };
  };
}

/** A colour that is one on light paper and another on dark ground. */
export function lightDark(light, dark) {
  return light === dark ? light : `light-dark(${light}, ${dark})`;
}

/** The colour of a number as a dot of a picture, [red, green, blue, alpha], that is read on light and on dark ground. */
export function dotColor(page, range) {
  if (!range.isSigned) {
    const scale = colorScale(page.colors, range);
    return (number) => [...scale(number), 255];
  }
  const [negative, positive] = page.signed_colors.dots;
  const strongest = Math.max(-range.least, range.most);
  return (number) => [...(number < 0 ? negative : positive), Math.round(255 * Math.min(Math.abs(number / strongest), 1))];
}

/** The function from a number of a range to its colour [red, green, blue]; a range of one number has the middle. */
export function colorScale(colors, range) {
  const last = colors.length - 1;
  return (number) => {
    const span = range.most / 2 - range.least / 2; // halves: the difference may be too large for a number
    const share = span > 0 ? (number / 2 - range.least / 2) / span : 0.5;
    const place = Math.min(Math.max(share, 0), 1) * last;
    const at = Math.min(Math.floor(place), last - 1);
    return colors[at].map((low, part) => Math.round(low + (colors[at + 1][part] - low) * (place - at)));
  };
}

/** Black or white, whichever has the greater contrast to a colour (Web Content Accessibility Guidelines 2.2). */
export function textColorOn(color) {
  const [red, green, blue] = color.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) ** 2 >= 0.05 * 1.05 ? "#000" : "#fff";
}

/** A colour as style sheets write it. */
export function cssColor([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}
