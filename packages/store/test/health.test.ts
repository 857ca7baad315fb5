import { expect, test } from "vitest";
import { StoreHealth } from "../src/health.ts";

const withCode = (code: string) => Object.assign(new Error(code), { code });

test("groups that fail are counted, and the first of each kind is logged", () => {
  const lines: unknown[] = [];
  const health = new StoreHealth({ log: { warn: (message, fields) => void lines.push([message, fields?.["kind"]]) } });

  for (const kind of ["steps", "steps", "starts"] as const) health.groupFailed(kind, withCode("42703"));
  health.groupFailed("steps", new TypeError("row is undefined"));

  const message = "a group of rows could not be stored in one statement; each is stored by itself";
  expect(lines).toEqual([
    [message, "steps"],
    [message, "starts"],
  ]);
  expect(health.failedGroups).toEqual({ steps: 3, starts: 1, accepts: 0 });
});

test.each(["23503", "23505", "23514", "40001", "40P01"])(
  "a conflict with other transactions (%s) is not a failure",
  (code) => {
    const lines: string[] = [];
    const health = new StoreHealth({ log: { warn: (message) => void lines.push(message) } });

    health.groupFailed("starts", withCode(code));

    expect([lines, health.failedGroups.starts]).toEqual([[], 0]);
  },
);
