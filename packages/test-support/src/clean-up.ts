import { afterAll } from "vitest";

/** Does `work` after the tests of this file or, outside of tests, when the process exits. */
export function atEnd(work: () => unknown): void {
  if (process.env["VITEST"] === undefined) process.once("exit", work);
  else afterAll(() => void work());
}
