import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** `vite dev` shows the sources; its `/api` is that of a control plane started beside it. */
const API = "http://127.0.0.1:8787";

export default defineConfig({
  root: import.meta.dirname,
  base: "/console/",
  plugins: [react(), tailwindcss()],
  build: {
    // The polyfill and small files as data URLs would be more than a strict CSP lets through.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1_000,
    manifest: true,
    license: { fileName: "THIRD-PARTY-LICENSES.txt" },
  },
  server: { proxy: { "/api": API } },
});
