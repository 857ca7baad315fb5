import { vi } from "vitest";

/** Far above what a busy machine needs; only a test that fails waits this long. Vitest's own default is 1 s. */
const LIMIT_MS = 15_000;

const { waitFor } = vi;
vi.waitFor = (condition, options) =>
  waitFor(condition, typeof options === "number" ? options : { timeout: LIMIT_MS, ...options });
