import { afterAll } from "vitest";

/** Does `work` when the tests of this file are over, or, where no tests run, when the process ends. */
export function atEnd(work: () => unknown): void {
  if (process.env["VITEST"] === undefined) process.once("exit", work);
  else afterAll(() => void work());
}
