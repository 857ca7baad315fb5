import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { SUBJECTS } from "./contract.ts";

test("each subject of the contract runs on SQLite and on Postgres", () => {
  const files = readdirSync(new URL("contract", import.meta.url)).filter((file) => file.endsWith(".test.ts"));

  const wanted = Object.keys(SUBJECTS).flatMap((subject) =>
    ["sqlite", "postgres"].map((engine) => `${engine}-${subject}.test.ts`),
  );
  expect(files.toSorted()).toEqual(wanted.toSorted());
});
