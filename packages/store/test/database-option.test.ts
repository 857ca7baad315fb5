import { resolve } from "node:path";
import { expect, test } from "vitest";
import { databaseOption } from "../src/open.ts";

test.each([
  ["sqlite:/srv/desk/patchbay.db", { name: "--data-dir", value: "/srv/desk" }],
  ["sqlite:.patchbay/patchbay.db", { name: "--data-dir", value: resolve(".patchbay") }],
  ["sqlite:/srv/desk.db", { name: "--database", value: "sqlite:/srv/desk.db" }],
  ["postgres://ann:s3cret@db/desk", { name: "--database", value: null }],
  ["sqlite::memory:", null],
])("commands of the operator find %s in any folder, and its password is not shown", (url, option) => {
  expect(databaseOption(url)).toEqual(option);
});
