import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: `${import.meta.dirname}/page`,
  plugins: [react()],
  build: { outDir: `${import.meta.dirname}/dist`, emptyOutDir: true, chunkSizeWarningLimit: 1_000 },
});
