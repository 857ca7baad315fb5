import type { AccessLock, Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { accessSurface, compareAccess, widenings } from "../src/index.ts";

const functionSet = (roleOptions?: Manifest["roleOptions"]): Manifest => ({
  name: "desk",
  roles: ["support", "manager", "director"],
  ...(roleOptions && { roleOptions }),
  preparesContext: false,
  functions: [],
});
const chain = { manager: { includes: ["support"] }, director: { includes: ["manager"] } };

test("an added inclusion is a widening for each role that gains by it, and a removed one is not", () => {
  const [before, after] = [functionSet({ director: { includes: ["manager"] } }), functionSet(chain)];

  expect(compareAccess(before, after).map(({ kind, sentence }) => `${kind}: ${sentence}`)).toEqual([
    "widening: director gained the access of support",
    "widening: manager gained the access of support",
  ]);
  expect(widenings(before, after).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    "roles: director gained the access of support.",
    "roles: manager gained the access of support.",
  ]);
  expect(compareAccess(after, before).map(({ kind, sentence }) => `${kind}: ${sentence}`)).toEqual([
    "narrowing: director lost the access of support",
    "narrowing: manager lost the access of support",
  ]);
  expect(widenings(after, before)).toEqual([]);
});

test("a redundant inclusion and a description change no access", () => {
  const described = {
    manager: { ...chain.manager, description: "Decides." },
    director: { includes: ["support", "manager"] },
  };
  expect(compareAccess(functionSet(chain), functionSet(described))).toEqual([]);
});

test("the lock of a service without inclusions has none, and an earlier lock compares as such", () => {
  expect(accessSurface(functionSet({ manager: { description: "Decides." } }))).not.toHaveProperty("includes");
  expect(accessSurface(functionSet(chain)).includes).toEqual({ director: ["manager"], manager: ["support"] });
  const earlier: AccessLock = { version: 3, functions: {} };
  expect(widenings(functionSet(), functionSet(chain))).toHaveLength(2);
  expect(compareAccess(earlier, functionSet(chain)).map(({ kind }) => kind)).toEqual(["widening", "widening"]);
});

test("too many inclusions count as unproven, in bounded steps", () => {
  const names = Array.from({ length: 5_000 }, (_, i) => `r${i}`);
  const includes = Object.fromEntries(names.map((name, i) => [name, names.slice(i + 1, i + 3)]));
  const changes = compareAccess({ version: 3, functions: {} }, { version: 3, includes, functions: {} });
  expect(changes).toMatchObject([{ kind: "unproven", about: "roles" }]);
});
