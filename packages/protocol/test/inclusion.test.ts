import { expect, test } from "vitest";
import { actsAs, inheritedFrom, outermost, withIncluding } from "../src/index.ts";

const inclusions = {
  manager: { includes: ["support"] },
  director: { includes: ["manager", "audit"] },
  plain: { description: "Includes none." },
};

test("a role acts as what it includes, at any depth, and as itself", () => {
  const acts = (role: string) => [...actsAs(role, inclusions)].toSorted();
  expect(acts("director")).toEqual(["audit", "director", "manager", "support"]);
  expect(acts("manager")).toEqual(["manager", "support"]);
  for (const role of ["support", "plain", "unknown", "constructor", "__proto__"]) expect(acts(role)).toEqual([role]);
  expect([...actsAs("manager", undefined)]).toEqual(["manager"]);
});

test("a list gains the roles that include one of its roles, after its own", () => {
  expect(withIncluding(["support"], inclusions)).toEqual(["support", "manager", "director"]);
  expect(withIncluding(["audit", "manager"], inclusions)).toEqual(["audit", "manager", "director"]);
  expect(withIncluding(["director"], inclusions)).toEqual(["director"]);
  expect(withIncluding([], inclusions)).toEqual([]);
});

test("of several roles, those stay that no other includes", () => {
  expect(outermost(["support", "manager"], inclusions)).toEqual(["manager"]);
  expect(outermost(["support", "audit"], inclusions)).toEqual(["support", "audit"]);
  expect(outermost(["support", "director", "audit", "manager"], inclusions)).toEqual(["director"]);
  const circle = { a: { includes: ["b"] }, b: { includes: ["a"] } };
  expect(outermost(["b", "a"], circle)).toEqual(["b"]);
});

test("an access is inherited from the listed roles that a role includes", () => {
  expect(inheritedFrom("director", ["support", "manager", "director", "guest"], inclusions)).toEqual([
    "support",
    "manager",
  ]);
  expect(inheritedFrom("support", ["support", "manager"], inclusions)).toEqual([]);
  expect(inheritedFrom("director", "everyone", inclusions)).toEqual([]);
});
