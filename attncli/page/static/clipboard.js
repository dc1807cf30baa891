/* Texts and files that are taken from the page: to the clipboard, or to a file that the browser saves. */

import { make } from "./elements.js";

/** Copy a text and say so in an element; where the clipboard is refused the text is shown there, selected. */
export async function copyText(text, noun, element) {
  try {
    await navigator.clipboard.writeText(text);
    element.replaceChildren(`The ${noun} is copied.`);
  } catch {
    const field = make("textarea", { readonly: true, rows: 3, "aria-label": `The ${noun}` });
    field.value = text;
    element.replaceChildren("Copy it from here:", field);
    field.focus();
    field.select();
  }
}

/** Have the browser save a text as a file. */
export function saveText(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // some browsers read it after the click
}

/** The name of the page's file without its suffix, for the files that are saved from it. */
export function pageStem() {
  const name = location.protocol === "about:" ? "" : decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
  return name.replace(/\.\w*$/, "").replace(/[^\p{L}\p{N} _.-]/gu, "_") || "problem";
}
