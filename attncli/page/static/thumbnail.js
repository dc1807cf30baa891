/* Thumbnails: a slice as a small picture, one dot of colour for each number. */

import { dotColor, rangeOf } from "./color_scale.js";
import { make } from "./elements.js";
import { leadingIndex, sliceOf } from "./slices.js";

const MOST_DOTS = 64; // rows and columns of a picture; of more, some are left out

/** A canvas of the slice of a step that is in view; what is not finite stays transparent. */
export function thumbnail(page, node, value, positions) {
  const slice = sliceOf(value, leadingIndex(page, node, positions));
  return paintSlice(make("canvas", { class: "thumbnail", "aria-hidden": "true" }), slice, rangeOf(node, value), page);
}

/** Paint a slice on a canvas of a dot for each number, or for some of them where there are more than `mostDots`. */
export function paintSlice(canvas, { rows, columns, data }, range, page, mostDots = MOST_DOTS) {
  canvas.width = Math.min(columns, mostDots);
  canvas.height = Math.min(rows, mostDots);
  if (range === null) return canvas;
  const colorOf = dotColor(page, range);
  const drawing = canvas.getContext("2d");
  const image = drawing.createImageData(canvas.width, canvas.height);
  for (let row = 0; row < canvas.height; row++) {
    for (let column = 0; column < canvas.width; column++) {
      const number = data[Math.floor((row * rows) / canvas.height) * columns + Math.floor((column * columns) / canvas.width)];
      if (Number.isFinite(number)) image.data.set(colorOf(number), 4 * (row * canvas.width + column));
    }
  }
  drawing.putImageData(image, 0, 0);
  return canvas;
}
