import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDesk, temporaryFolder } from "./support/desk.ts";

describe("a bad tool of a server is left out, and the others are offered", () => {
  const object = { type: "object", properties: {} };
  const nested = (levels: number) =>
    JSON.parse(
      `${'{"type":"object","properties":{"a":'.repeat(levels)}{"type":"string"}${"}}".repeat(levels)}`,
    ) as object;
  const of = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });

  test.each<[string, object]>([
    ["a schema that is a text", { inputSchema: "x" }],
    ["a schema of an array", { inputSchema: { type: "array" } }],
    ["no schema", { inputSchema: undefined }],
    ["a description that is a number", { description: 1 }],
    ["a schema with many levels", { inputSchema: nested(300) }],
    ["a schema with more levels than the stack takes", { inputSchema: nested(5_000) }],
    ["an output schema with many levels", { outputSchema: { ...nested(40), properties: { a: { $ref: "#/none" } } } }],
    ["a long description", { description: "x".repeat(1_100_000) }],
    ["properties that are a text", { inputSchema: { type: "object", properties: "x" } }],
    ["a pattern that is not one", { inputSchema: of("(") }],
    ["a pattern with a back reference", { inputSchema: of("^(a+)\\1$") }],
    ["a pattern with a look-behind in its results", { outputSchema: of("(?<=a)b") }],
    ["a pattern with huge counts", { inputSchema: of("^(a{1000}){1000}$") }],
  ])("%s", async (_name, fault) => {
    const tools = [
      { name: "bad", inputSchema: object, ...fault },
      { name: "good", inputSchema: object },
    ];
    await using folder = await temporaryFolder();
    const file = join(folder.path, "tools.json");
    await writeFile(file, JSON.stringify(tools));
    await using desk = await openDesk({
      roles: { "*": "everyone" },
      // An override is the owner's, and the fault is not.
      override: {
        bad: {
          effect: "read",
          examples: [{ a: "x" }],
          approval: { by: ["manager"], edit: ["a"] },
          targets: { a: "caller" },
          sends: ["a"],
        },
      },
      env: { HOSTILE_TOOLS: file },
    });
    expect(desk.names).toEqual(["h_good"]);
    const warnings = desk.log.lines.filter(({ level }) => level === "warn");
    expect(JSON.stringify(warnings)).toContain('"bad"');
  });

  test("is named with the levels of its schema", async () => {
    const tools = [{ name: "bad", inputSchema: nested(300) }];
    await using desk = await openDesk({ env: { HOSTILE_TOOLS: JSON.stringify(tools) } });
    expect(JSON.stringify(desk.log.lines)).toContain("the JSON Schema nests 601 levels, which exceed the limit of 64");
  });

  test("an entry that is not an object", async () => {
    const tools = [null, "x", { inputSchema: object }, { name: "good", inputSchema: object }];
    await using desk = await openDesk({ env: { HOSTILE_TOOLS: JSON.stringify(tools) } });
    expect(desk.names).toEqual(["h_good"]);
    expect(desk.log.lines).toContainEqual(
      expect.objectContaining({ level: "warn", fields: expect.objectContaining({ tools: ["#0", "#1", "#2"] }) }),
    );
  });
});

test("a tool whose name is too long for a function is one under a shorter name", async () => {
  const tools = ["a", "b"].map((end) => ({ name: `${"x".repeat(80)}${end}`, inputSchema: { type: "object" } }));
  await using desk = await openDesk({ env: { HOSTILE_TOOLS: JSON.stringify(tools) } });
  expect(desk.names).toEqual([
    expect.stringMatching(/^h_x{53}_[0-9a-f]{8}$/),
    expect.stringMatching(/^h_x{53}_[0-9a-f]{8}$/),
  ]);
  expect(new Set(desk.names).size).toBe(2);
});
