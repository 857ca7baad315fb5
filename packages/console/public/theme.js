// Runs before the first paint, so that a dark page never flashes light. A file of its own because the CSP forbids inline scripts.
(() => {
  let choice = "system";
  try {
    choice = localStorage.getItem("patchbay.theme") ?? "system";
  } catch {
    // Storage may be forbidden; the system's choice holds then.
  }
  const dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
