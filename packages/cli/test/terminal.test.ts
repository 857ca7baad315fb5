import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { escapeControls } from "@patchbay/kit";
import { expect, test } from "vitest";
import { table } from "../src/table.ts";
import { oneLine } from "../src/output.ts";
import { columnsOf } from "../src/table.ts";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { events, json, startFakeService } from "../../client/test/support/fake-service.ts";
import { serviceSource } from "./support/service-source.ts";

/** Sets the window's title, writes to the clipboard, clears the screen, reverses text, and forges a line. */
const EVIL = "x\u001b]0;owned\u0007\u009b2J\u001b[2J\u202e\n09:00:00  done    run_fake";
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

test("control characters are escaped as in JSON, newlines are kept", () => {
  expect(escapeControls("a\u001b[31m\nb\rc\u009b\u202e")).toBe("a\\u001b[31m\nb\\u000dc\\u009b\\u202e");
  expect(oneLine("a\r\nb\tc")).toBe("a\\nb c");
  expect(JSON.parse(`"${escapeControls("\u009b\u007f")}"`)).toBe("\u009b\u007f");
});

test("the role of a caller is escaped in the live log and in lists", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await using dev = startCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as { baseUrl: string; agentId: string; apiKey: string };

  const response = await fetch(`${ready.baseUrl}/agents/${ready.agentId}/query`, {
    method: "POST",
    headers: { "X-API-Key": ready.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ query: "Hello", role: EVIL }),
  });
  expect(response.status).toBe(200);
  await dev.seen(/^\d\d:\d\d:\d\d {2}done/m);
  const lists = [
    await runCommand(["runs", "list", "--agent", ready.agentId], { cwd: folder.path }),
    await runCommand(["audit", "list", "--agent", ready.agentId], { cwd: folder.path }),
  ];
  dev.process.kill("SIGTERM");
  const { stderr } = await dev.finished;

  for (const text of [stderr, ...lists.map(({ stdout }) => stdout)]) {
    expect(text).toContain("x\\u001b]0;owned");
    expect(text).not.toMatch(CONTROL);
    expect(text).not.toMatch(/^09:00:00 {2}done {4}run_fake/m);
  }
});

test("answers, thoughts, calls and errors of a service are escaped, and an answer keeps its lines", async () => {
  const answer = {
    response: `# Title\n\n${EVIL}`,
    threadId: "thr_1",
    runId: "run_1",
    executionTimeMs: 1,
    toolInteractions: [],
  };
  await using service = await startFakeService([
    events([
      { type: "thought", content: EVIL },
      { type: "toolCall", toolName: EVIL, toolCallId: "1", parameters: { city: EVIL } },
      { type: "toolResult", toolName: EVIL, toolCallId: "1", success: false, errorMessage: EVIL },
      { type: "finalResponse", ...answer },
    ]),
    json(400, { success: false, errorMessage: EVIL, code: "invalid_request" }),
  ]);
  const target = ["--url", service.url, "--agent", "agt_1", "--key", "k"];

  const shown = await runCommand(["query", "Hello", "--stream", ...target]);
  const refused = await runCommand(["query", "Hello", ...target]);

  expect(shown.code).toBe(0);
  expect(shown.stdout).toContain("# Title\n\nx\\u001b]0;owned");
  for (const text of [shown.stdout, shown.stderr, refused.stderr]) expect(text).not.toMatch(CONTROL);
  expect(shown.stderr).not.toMatch(/^09:00:00/m);
  expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
});

const runs = [
  ["run_1", "注文は遅れています"],
  ["run_22", "👩‍👩‍👧‍👦 family"],
  ["run_3", "plain"],
];

test("columns of a table are aligned for wide characters and emoji", () => {
  const text = table(
    ["run", "role", "state"],
    runs.map((cells) => [...cells, "done"]),
    "None.",
  );

  const starts = text.split("\n").map((line) => columnsOf(line.slice(0, line.search(/state|done/))));
  expect(new Set(starts).size).toBe(1);
});

test("a table wider than the terminal becomes a block of lines for each row", () => {
  const text = table(["run", "role"], runs, "None.", 20);

  expect(text).toBe(
    "run   run_1\nrole  注文は遅れています\n\nrun   run_22\nrole  👩‍👩‍👧‍👦 family\n\nrun   run_3\nrole  plain",
  );
  expect(table(["run", "role"], runs, "None.", 200).split("\n")).toHaveLength(4);
});
