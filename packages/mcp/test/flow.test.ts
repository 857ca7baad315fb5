import { expect, test } from "vitest";
import { openDesk } from "./support/desk.ts";

test.each([
  [undefined, { foreign: true, returns: "untrusted" }],
  [{ foreign: false, returns: "trusted" as const }, { returns: "trusted" }],
])("with the owner's word %j, the data-flow rules of a tool are %j", async (own, flow) => {
  await using desk = await openDesk({ roles: { add: "everyone" }, ...(own && { override: { add: own } }) });

  expect(desk.files.functions.map(({ manifest }) => manifest.flow)).toEqual([flow]);
});
