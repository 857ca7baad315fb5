import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../src");
const read = (file: string): string => readFileSync(join(source, file), "utf8");

/** A context and a query of the retail desk: every agent had placeholders with them. */
const OF_EXAMPLES = /customerId|which orders/i;

test("pages contain no example of one service", () => {
  const files = globSync("**/*.{ts,tsx}", { cwd: source });

  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((file) => OF_EXAMPLES.exec(read(file))?.map((text) => `${file}: ${text}`) ?? [])).toEqual([]);
});
