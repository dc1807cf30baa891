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

const [FEW_ROWS, FEW_COLUMNS] = [20, 14]; // a table of so many, or fewer, has no overview
const DOTS = 160;

/**
 * The overview of a table that `makeTable` drew: a list of one element, empty where the table is small, and `paint`,
 * which shows another content in it.
 *
 * Pressing on the picture scrolls the table there. It is for the pointer: keys walk over the table itself.
 */
export function tableOverview(page, content, scroller) {
  if (content.rows <= FEW_ROWS && content.columns <= FEW_COLUMNS) return { elements: [], paint: () => {} };
  const picture = make("canvas");
  const paint = (next) => paintSlice(picture, next, next.range, page, DOTS);
  paint(content);
  const frame = make("div", { class: "overview-frame" });
  const go = (event) => {
    if (event.buttons === 0) return;
    const box = picture.getBoundingClientRect();
    scroller.scrollLeft = ((event.clientX - box.left) / box.width) * scroller.scrollWidth - scroller.clientWidth / 2;
    scroller.scrollTop = ((event.clientY - box.top) / box.height) * scroller.scrollHeight - scroller.clientHeight / 2;
  };
  const show = () => {
    const share = (part, whole) => `${Math.min(part / whole, 1) * 100}%`;
    frame.style.left = share(scroller.scrollLeft, scroller.scrollWidth);
    frame.style.top = share(scroller.scrollTop, scroller.scrollHeight);
    frame.style.width = share(scroller.clientWidth, scroller.scrollWidth);
    frame.style.height = share(scroller.clientHeight, scroller.scrollHeight);
  };
  scroller.addEventListener("scroll", () => requestAnimationFrame(show), { passive: true });
  new ResizeObserver(show).observe(scroller);
  const element = make("div", { class: "table-overview", "aria-hidden": "true", onpointerdown: go, onpointermove: go }, picture, frame);
  return { elements: [element], paint };
}
