/* Colours of numbers: from the least to the largest of a table, with black or white text on them. */

/**
 * The range of the colours of a step's value: of all its finite numbers, so that heads can be compared.
 *
 * What the normalizer makes begins at 0, where nothing is below it. A value without a finite number has no range.
 */
export function rangeOf(node, value) {
  let [least, most] = [Infinity, -Infinity];
  for (const number of value.data) {
    if (!Number.isFinite(number)) continue;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  if (least > most) return null;
  return { least: node.stage === "normalize" ? Math.min(least, 0) : least, most };
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
