import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createControlPlane } from "@patchbay/control-plane";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

interface Answer {
  success: boolean;
  response: string;
  runId: string;
  errorMessage: string;
}

async function startDev(cwd: string, ...args: string[]) {
  const running = startCommand(["dev", "--port", "0", "--json", "--no-watch", ...args], { cwd });
  const ready = JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as Record<string, string>;
  return {
    ...running,
    provider: ready["provider"],
    agentId: ready["agentId"] ?? "",
    async query(query: string): Promise<Answer> {
      const response = await fetch(`${ready["baseUrl"]}/agents/${ready["agentId"]}/query`, {
        method: "POST",
        headers: { "X-API-Key": ready["apiKey"] ?? "", "Content-Type": "application/json" },
        body: JSON.stringify({ query }),
      });
      return (await response.json()) as Answer;
    },
  };
}

async function greeter() {
  const folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  return folder;
}

test("dev --record records model answers, and dev --replay replays them", async () => {
  await using folder = await greeter();
  const file = join(folder.path, "greetings.json");
  let recorded: Answer;
  {
    await using dev = await startDev(folder.path, "--record", file);
    recorded = await dev.query('Greet "Ann"');
  }
  await using dev = await startDev(folder.path, "--replay", file);

  expect(recorded.success).toBe(true);
  expect(dev.provider).toBe("replay");
  expect(await dev.query('Greet "Ann"')).toMatchObject({ success: true, response: recorded.response });
  expect(await dev.query('Greet "Bob"')).toMatchObject({
    success: false,
    errorMessage: expect.stringContaining("replay"),
  });
  await dev.seen(/No answer is recorded .* message 1 \(user\) changed/);
});

test("dev --replay of a missing file fails with a one-line reason", async () => {
  await using folder = await greeter();

  const { code, stderr } = await runCommand(["dev", "--port", "0", "--replay", "no.json"], { cwd: folder.path });

  expect(code).toBe(1);
  expect(stderr).toContain("There is no recording at no.json");
});

test("runs export writes a finished run as a recording, with a test", async () => {
  await using folder = await greeter();
  let answer: Answer;
  {
    await using dev = await startDev(folder.path);
    await runCommand(["agents", "update", dev.agentId, "--steps", "3"], { cwd: folder.path });
    answer = await dev.query('Greet "Ann"');
    const { stdout } = await runCommand(["runs", "export", answer.runId], { cwd: folder.path });
    expect(JSON.parse(stdout)).toMatchObject({ recording: 1, queries: [{ query: 'Greet "Ann"', contextKeys: [] }] });
  }
  const args = ["runs", "export", answer.runId, "--output", "runs/ann.json", "--json"];

  const written = await runCommand(args, { cwd: folder.path });
  const again = await runCommand(args, { cwd: folder.path });

  expect(JSON.parse(written.stdout)).toEqual({
    file: "runs/ann.json",
    testFile: "runs/ann.test.ts",
    kept: false,
    edits: [],
  });
  expect(JSON.parse(again.stdout)).toMatchObject({ kept: true });
  const test = await readFile(join(folder.path, "runs/ann.test.ts"), "utf8");
  expect(test).toContain('query: "Greet \\"Ann\\""');
  expect(test).toContain('settings: {"steps":3},');
  expect(test).toContain('replay: join(import.meta.dirname, "ann.json")');
});

test("runs export-tests writes the runs that match, keeps existing files, and refuses an unknown filter", async () => {
  await using folder = await greeter();
  let agentId: string;
  let ann: Answer;
  {
    await using dev = await startDev(folder.path);
    ({ agentId } = dev);
    ann = await dev.query('Greet "Ann"');
    await dev.query('Greet "Bob"');
  }
  const run = (filter: string) => {
    const args = ["runs", "export-tests", "--agent", agentId, "--filter", filter, "--output", "runs", "--json"];
    return runCommand(args, { cwd: folder.path });
  };
  const name = `runs/greet-ann-${ann.runId}`;

  const one = await run("q=Ann");
  expect(JSON.parse(one.stdout)).toEqual({
    written: [`${name}.json`, `${name}.test.ts`],
    kept: [],
    toEdit: [],
    skipped: [],
  });
  expect(await readFile(join(folder.path, `${name}.test.ts`), "utf8")).toContain(
    `replay: join(import.meta.dirname, "greet-ann-${ann.runId}.json")`,
  );
  const all = JSON.parse((await run("")).stdout) as { written: string[]; kept: string[] };
  expect(all.kept).toEqual([`${name}.json`, `${name}.test.ts`]);
  expect(all.written).toHaveLength(2);
  expect(await run("feedback=poor")).toMatchObject({ code: 1, stderr: expect.stringContaining("feedback: ") });
  expect(await run("colour=red")).toMatchObject({ code: 1, stderr: expect.stringContaining("colour") });
});

test("runs export refuses an unknown run, and a file that does not end in .json", async () => {
  await using folder = await temporaryFolder();
  const plane = await createControlPlane({ database: `sqlite:${join(folder.path, "patchbay.db")}`, port: 0 });
  await plane.close({ graceMs: 0 });

  const missing = await runCommand(["runs", "export", "run_1", "--data-dir", folder.path]);
  const misnamed = await runCommand(["runs", "export", "run_1", "--data-dir", folder.path, "--output", "x.ts"]);

  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no run run_1") });
  expect(misnamed).toMatchObject({ code: 1, stderr: expect.stringContaining(".json") });
});
