import { stripVTControlCharacters } from "node:util";
import type { QueryLine } from "@patchbay/control-plane";
import { afterEach, expect, test, vi } from "vitest";
import { logQueryLine } from "../src/log.ts";

afterEach(() => void vi.restoreAllMocks());

function lineOf(line: QueryLine): string {
  const written = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  logQueryLine(line);
  const text = written.mock.calls.map(([part]) => String(part)).join("");
  written.mockRestore();
  return stripVTControlCharacters(text).trim();
}

const of = { at: 0, runId: "run_1", agentId: "agt_1" };

test("a cancelled query is shown as cancelled and not as failed, and a failed one with its code", () => {
  expect(lineOf({ ...of, kind: "failed", code: "cancelled", ms: 12 })).toMatch(/^\S+ {2}cancelled {2}run_1 {2}12 ms$/);
  expect(lineOf({ ...of, kind: "failed", code: "provider_error", ms: 12 })).toMatch(
    /^\S+ {2}failed {2}run_1 {2}provider_error {2}12 ms$/,
  );
});
