import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

/** What a process writes to stderr that makes a log of `level` and does `use` with it. */
function written(use: string, level = "info"): Record<string, unknown>[] {
  const module = new URL("../../src/start/log.ts", import.meta.url).href;
  const script = `import { createLog } from ${JSON.stringify(module)}; const log = createLog({ level: "${level}" }); ${use}`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });
  return stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test("a line is one JSON object with its time, level, message and fields, from the level up", () => {
  const lines = written('log.info("quiet"); log.child({ runId: "run_1" }).warn("slow", { ms: 12n });', "warn");

  expect(lines).toEqual([
    { time: expect.stringMatching(/^\d{4}-.*Z$/), level: "warn", message: "slow", runId: "run_1", ms: "12" },
  ]);
});

test("fields that may hold a secret are redacted at any depth", () => {
  const [line] = written('log.info("kept", { apiKey: "one", config: { authorization: "two", port: 1 } });');

  expect(line).toMatchObject({ apiKey: "[Redacted]", config: { authorization: "[Redacted]", port: 1 } });
});

test("keys, tokens and passwords are redacted wherever a text quotes them", () => {
  const key = `service_live_${"a1B2".repeat(9)}`;
  const texts = [`key ${key} refused`, "Authorization: Bearer abc.def-12345", "postgres://ann:s3cret@db/patchbay"];
  const [line] = written(`log.warn("met", { texts: ${JSON.stringify(texts)}, error: new Error("${key}") });`);

  expect(line).toMatchObject({
    texts: ["key [Redacted] refused", "Authorization: Bearer [Redacted]", "postgres://ann:[Redacted]@db/patchbay"],
    error: { message: "[Redacted]" },
  });
});

test("an error is written with its code, its stack and its cause", () => {
  const made = 'Object.assign(new Error("lost", { cause: new Error("reset") }), { code: "EPIPE" })';
  const [line] = written(`log.error("failed", { error: ${made} });`);

  expect(line).toMatchObject({
    error: {
      message: "lost",
      code: "EPIPE",
      stack: expect.stringContaining("Error: lost"),
      cause: { message: "reset" },
    },
  });
});

test("a value that JSON cannot represent loses the line's fields and does not stop the service", () => {
  const lines = written('const loop = {}; loop.self = loop; log.info("odd", { loop }); log.info("next");');

  expect(lines.map(({ message }) => message)).toEqual(["odd", "next"]);
});

test("control characters are escaped, so that none reaches a terminal", () => {
  const module = new URL("../../src/start/log.ts", import.meta.url).href;
  const script = `import { createLog } from ${JSON.stringify(module)}; createLog().info("met", { role: "\\u009b2J\\u007f\\u202e" });`;
  const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });

  expect(stderr).toContain('"role":"\\u009b2J\\u007f\\u202e"');
  expect(JSON.parse(stderr)).toMatchObject({ role: "\u009b2J\u007f\u202e" });
});

test.each(["process.exit(1)", 'throw new Error("defect")', "process.stdin.destroy()"])(
  "no line is lost by `%s` directly after it, and lines stay in order",
  (end) => {
    const lines = 'log.info("one"); log.warn("two"); log.info("three"); log.info("four");';
    const module = new URL("../../src/start/log.ts", import.meta.url).href;
    const script = `import { createLog } from ${JSON.stringify(module)}; const log = createLog(); ${lines} ${end}`;
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], { encoding: "utf8" });

    const messages = [...stderr.matchAll(/"message":"(\w+)"/g)].map(([, message]) => message);
    expect(messages).toEqual(["one", "two", "three", "four"]);
  },
);

test("lines of level info are written while the process works on", async () => {
  const module = new URL("../../src/start/log.ts", import.meta.url).href;
  const script = `import { createLog } from ${JSON.stringify(module)}; createLog().info("at work"); setInterval(() => {}, 1e6);`;
  const working = spawn(process.execPath, ["--input-type=module", "--eval", script]);
  try {
    const [line] = (await once(working.stderr, "data")) as [Buffer];
    expect(JSON.parse(line.toString())).toMatchObject({ message: "at work" });
  } finally {
    working.kill("SIGKILL");
  }
});
