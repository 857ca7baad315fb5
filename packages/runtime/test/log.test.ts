import { expect, test } from "vitest";
import { createLog } from "../src/index.ts";

function written(use: (log: ReturnType<typeof createLog>) => void, level?: "debug" | "warn"): unknown[] {
  const lines: string[] = [];
  use(createLog({ write: (line) => lines.push(line), ...(level === undefined ? {} : { level }) }));
  expect(lines.every((line) => line.endsWith("\n"))).toBe(true);
  return lines.map((line) => JSON.parse(line) as unknown);
}

test("an event is one line of JSON with its fields and those of parent logs", () => {
  const lines = written((log) => log.child({ runtime: "r1" }).child({ callId: "c1" }).info("call done", { ms: 3 }));

  expect(lines).toEqual([
    { time: expect.any(String), level: "info", message: "call done", runtime: "r1", callId: "c1", ms: 3 },
  ]);
});

test("levels below the chosen one are dropped, by default those below info", () => {
  const all = (log: ReturnType<typeof createLog>) => {
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
  };

  expect(written(all).map((line) => (line as { message: string }).message)).toEqual(["b", "c", "d"]);
  expect(written(all, "debug")).toHaveLength(4);
  expect(written(all, "warn")).toHaveLength(2);
});

test("errors are written with their stack and their cause", () => {
  const error = new Error("outer", { cause: new TypeError("inner") });

  expect(written((log) => log.error("function failed", { error }))).toEqual([
    expect.objectContaining({
      error: {
        name: "Error",
        message: "outer",
        stack: expect.stringContaining("log.test.ts"),
        cause: expect.objectContaining({ name: "TypeError", message: "inner" }),
      },
    }),
  ]);
});

test("a line with fields that are not JSON is written without them", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;

  expect(written((log) => log.info("odd", { big: 1n }))).toEqual([expect.objectContaining({ big: "1" })]);
  expect(written((log) => log.info("odd", { loop }))).toEqual([expect.objectContaining({ message: "odd" })]);
});

test("control characters that JSON does not escape are escaped", () => {
  const lines: string[] = [];

  createLog({ write: (line) => lines.push(line) }).info("met", { role: "\u009b2J\u007f\u202e" });

  expect(lines[0]).toContain('"role":"\\u009b2J\\u007f\\u202e"');
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ role: "\u009b2J\u007f\u202e" });
});
