import { vi } from "vitest";
import { WAIT_MS } from "./patience.ts";

/** Vitest's own limit is 1 s, which a busy machine exceeds. */
const { waitFor } = vi;
vi.waitFor = (condition, options) =>
  waitFor(condition, typeof options === "number" ? options : { timeout: WAIT_MS, ...options });
