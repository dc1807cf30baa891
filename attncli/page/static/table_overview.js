/* The overview of a large table: all of it as a picture, with a frame around the part in view. */

import { make } from "./elements.js";
import { paintSlice } from "./thumbnail.js";

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
