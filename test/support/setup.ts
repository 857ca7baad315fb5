import { afterEach, vi } from "vitest";
import { WAIT_MS } from "@patchbay/test-support/patience";

/** Vitest's own limit is 1 s, which a busy machine exceeds. */
const { waitFor } = vi;
vi.waitFor = (condition, options) =>
  waitFor(condition, typeof options === "number" ? options : { timeout: WAIT_MS, ...options });

/** A failed test must not leave its timers to the next files in its process, which would all wait for their limits. */
afterEach(() => void vi.useRealTimers());
