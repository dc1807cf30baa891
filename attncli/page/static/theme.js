/* The switch of light and dark: as the system has it until it is pressed. */

import { make } from "./elements.js";

/** A button that changes between light and dark. */
export function themeSwitch() {
  const root = document.documentElement;
  const isDark = () => (root.style.colorScheme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = make("button", { type: "button", class: "theme-switch", onclick: () => { root.style.colorScheme = isDark() ? "light" : "dark"; show(); } });
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `${isDark() ? "Light" : "Dark"} colours`);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  return button;
}
