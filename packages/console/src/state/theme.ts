import { storedChoice } from "./stored.ts";

/** `public/theme.js` reads the same entry before the first paint. */
export const theme = storedChoice("theme", ["system", "light", "dark"]);

/** Applies the choice, now and whenever it or the system's changes. */
export function followTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = (): void => {
    const choice = theme.get();
    document.documentElement.dataset["theme"] = choice === "system" ? (system.matches ? "dark" : "light") : choice;
  };
  theme.subscribe(apply);
  system.addEventListener("change", apply);
  apply();
}
