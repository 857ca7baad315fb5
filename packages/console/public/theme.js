// Runs before the first paint, so that a dark page does not flash light. A separate file because the CSP forbids inline scripts.
(() => {
  let choice = "system";
  try {
    choice = localStorage.getItem("patchbay.theme") ?? "system";
  } catch {
    // Storage may be forbidden; then follow the system.
  }
  const dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
