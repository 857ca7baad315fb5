import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The control plane that `vite dev` forwards `/api` to. */
const API = "http://127.0.0.1:8787";

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [react(), tailwindcss()],
  // Only the page has addresses that begin with the base: a server may mount the control plane below a prefix, and replaces them.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === "html" ? undefined : { relative: true }) },
  build: {
    // The strict CSP forbids the inline polyfill and data URLs.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_000,
    manifest: true,
    license: { fileName: "THIRD-PARTY-LICENSES.txt" },
  },
  server: { proxy: { "/api": API } },
});
