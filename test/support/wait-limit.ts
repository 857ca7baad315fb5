import { vi } from "vitest";

/** Far more than a busy machine needs; only a failing test waits this long. Vitest's own default is 1 s. */
const LIMIT_MS = 60_000;

const { waitFor } = vi;
vi.waitFor = (condition, options) =>
  waitFor(condition, typeof options === "number" ? options : { timeout: LIMIT_MS, ...options });
