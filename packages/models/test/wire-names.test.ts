import { expect, test } from "vitest";
import { wireNames } from "../src/wire-names.ts";

function names(...list: string[]) {
  return wireNames(list.map((name) => ({ name, description: "", inputSchema: {}, effect: "read" as const })));
}

test("a name that every wire accepts is not changed", () => {
  expect(names("find_order-2").toWire("find_order-2")).toBe("find_order-2");
});

test("dots, leading digits and dashes are mapped, and mapped back", () => {
  const mapped = names("orders.find", "2fa", "-x");

  expect(["orders.find", "2fa", "-x"].map(mapped.toWire)).toEqual(["orders_find", "_2fa", "_-x"]);
  expect(["orders_find", "_2fa", "_-x"].map(mapped.fromWire)).toEqual(["orders.find", "2fa", "-x"]);
});

test("names that map to the same name stay distinct, also from names that need no mapping", () => {
  const mapped = names("a.b", "a_b", "a..b", "a._b");
  const wire = ["a.b", "a_b", "a..b", "a._b"].map(mapped.toWire);

  expect(new Set(wire).size).toBe(4);
  expect(wire[1]).toBe("a_b");
  expect(wire.map(mapped.fromWire)).toEqual(["a.b", "a_b", "a..b", "a._b"]);
});

test("no name is longer than 64 characters", () => {
  const long = `${"x".repeat(62)}.y`;
  const other = `${"x".repeat(62)}_y`;
  const digits = "1".repeat(64);
  const mapped = names(long, other, digits);

  for (const name of [long, other, digits]) {
    expect(mapped.toWire(name).length).toBeLessThanOrEqual(64);
    expect(mapped.fromWire(mapped.toWire(name))).toBe(name);
  }
});

test("a name of an earlier function set is mapped to one that wires accept", () => {
  expect(names("ping").toWire("old.function")).toBe("old_function");
});

test("the name of an unknown function is passed through", () => {
  expect(names("orders.find").fromWire("multi_tool_use.parallel")).toBe("multi_tool_use.parallel");
});
