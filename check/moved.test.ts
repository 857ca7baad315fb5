import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import moved from "../release/moved.json" with { type: "json" };

test("every earlier path of a file leads to a file, and has no file of its own", () => {
  const root = join(import.meta.dirname, "..");
  const paths = Object.entries(moved);

  expect(paths.filter(([, now]) => !existsSync(join(root, now)))).toEqual([]);
  expect(paths.filter(([before]) => existsSync(join(root, before)))).toEqual([]);
});
