import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { silentLog } from "@patchbay/kit";
import { afterEach, expect, test, vi } from "vitest";
import { startStandIn, STAND_IN_KEY } from "@patchbay/test-support/providers";
import { readProvidersFile } from "../src/providers-file.ts";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const local = { name: "local", provider: "openai", baseUrl: "http://127.0.0.1:11434/v1" };

afterEach(() => void vi.useRealTimers());

/** A folder with a file of these endpoints. */
async function folderWith(...endpoints: object[]) {
  const folder = await temporaryFolder();
  const file = join(folder.path, "providers.json");
  const write = (...list: object[]) => writeFile(file, JSON.stringify({ endpoints: list }));
  await write(...endpoints);
  return { file, write, path: folder.path, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test("keys come from files without their line break, and from variables", async () => {
  await using folder = await folderWith(
    { name: "one", provider: "anthropic", keyFile: "one.key" },
    { name: "two", provider: "gemini", keyEnv: "GEMINI_API_KEY" },
  );
  await writeFile(join(folder.path, "one.key"), "sk-ant-1\n");
  const was = process.cwd();
  process.chdir(folder.path);
  const { settings } = await readProvidersFile(folder.file, { GEMINI_API_KEY: "AIza-2" }).finally(() =>
    process.chdir(was),
  );

  expect(settings.endpoints?.().map(({ name, key }) => [name, key])).toEqual([
    ["one", "sk-ant-1"],
    ["two", "AIza-2"],
  ]);
});

test.each([
  [{ ANTHROPIC_API_KEY: "k" }, "and ANTHROPIC_API_KEY both configure providers"],
  [{ OPENAI_BASE_URL: "http://h", PATCHBAY_PROVIDER: "openai" }, "and OPENAI_BASE_URL, PATCHBAY_PROVIDER both"],
])("variables %o next to the file are refused", async (environment, fault) => {
  await using folder = await folderWith(local);

  await expect(readProvidersFile(folder.file, environment)).rejects.toThrow(fault);
});

test("a missing key is refused with its variable", async () => {
  await using folder = await folderWith({ ...local, keyEnv: "LOCAL_KEY" });

  await expect(readProvidersFile(folder.file, {})).rejects.toThrow("keyEnv names LOCAL_KEY, which is not set");
});

test("a changed file is read again, and a faulty one is logged once while the endpoints stay", async () => {
  await using folder = await folderWith(local);
  const { settings, watch } = await readProvidersFile(folder.file, {});
  const names = () => settings.endpoints?.().map(({ name }) => name);
  const lines: unknown[][] = [];
  const note = (...line: unknown[]) => void lines.push(line);
  vi.useFakeTimers();
  using _ = watch({ ...silentLog, info: note, warn: note });

  const before = settings.endpoints?.();
  vi.advanceTimersByTime(5_000);
  expect(settings.endpoints?.()).toBe(before);
  await folder.write({ ...local, name: "new" }, local);
  vi.advanceTimersByTime(2_000);
  expect(names()).toEqual(["new", "local"]);
  await folder.write({ ...local, provider: "acme" });
  vi.advanceTimersByTime(6_000);

  expect(names()).toEqual(["new", "local"]);
  expect(lines).toEqual([
    ["providers file reloaded", { endpoints: "new, local" }],
    [expect.stringContaining("not reloaded"), expect.objectContaining({ cause: expect.stringContaining("provider") })],
  ]);
});

test.each(["serve", "doctor"])("%s --providers names every fault of the file, and exits 1", async (command) => {
  await using folder = await folderWith({ ...local, wire: "telex" }, { name: "x", provider: "anthropic" });
  const args = [command, "--port", "0", "--data-dir", folder.path, "--providers", folder.file];

  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path });

  expect(code).toBe(1);
  expect(stdout + stderr).toContain(`--providers ${folder.file} cannot be used`);
  expect(stdout + stderr).toMatch(/endpoints\.0\.wire.*endpoints\.1\.keyFile/);
});

test("dev --providers answers from an endpoint, and from another one after the file has changed", async () => {
  await using first = await startStandIn("openai-chat", () => ({ text: "First." }));
  await using second = await startStandIn("openai-chat", () => ({ text: "Second." }));
  const at = ({ url }: { url: string }) => ({ ...local, baseUrl: `${url}/v1`, keyEnv: "LOCAL_KEY" });
  await using folder = await folderWith(at(first));
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  const args = ["dev", "service.ts", "--port", "0", "--no-watch", "--providers", folder.file, "--json"];
  await using dev = startCommand(args, { cwd: folder.path, env: { LOCAL_KEY: STAND_IN_KEY } });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as Record<string, string>;
  const env = {
    PATCHBAY_URL: ready["baseUrl"]!,
    PATCHBAY_AGENT: ready["agentId"]!,
    PATCHBAY_API_KEY: ready["apiKey"]!,
  };
  const ask = async () =>
    (
      JSON.parse((await runCommand(["query", "Hi", "--json"], { cwd: folder.path, env })).stdout) as {
        response: string;
      }
    ).response;

  expect(ready["provider"]).toBe("local");
  expect(await ask()).toBe("First.");
  await folder.write(at(second));
  await expect.poll(ask, { timeout: 30_000 }).toBe("Second.");
});

test("doctor --models says what each endpoint does, also one of some organisations, and which does not answer", async () => {
  await using able = await startStandIn("openai-chat", ({ functions }) =>
    functions.includes("respond")
      ? { calls: [{ name: "respond", arguments: { sum: 5 } }] }
      : { text: "Hello.", calls: [1, 2].map((count) => ({ name: "note", arguments: { text: String(count) } })) },
  );
  const at = { ...local, keyEnv: "LOCAL_KEY" };
  await using folder = await folderWith(
    { ...at, name: "able", baseUrl: `${able.url}/v1`, organisations: ["org_1"] },
    { ...at, name: "closed", baseUrl: "http://127.0.0.1:9/v1" },
  );
  const args = ["doctor", "--port", "0", "--data-dir", folder.path, "--providers", folder.file, "--models", "--json"];

  const { code, stdout } = await runCommand(args, { cwd: folder.path, env: { LOCAL_KEY: STAND_IN_KEY } });

  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] };
  const of = (name: string) => checks.find((check) => check.name === name);
  expect(code).toBe(1);
  expect(of("able")).toMatchObject({
    status: "ok",
    message: "gpt-4.1-mini: text, call, parallel calls, structured answer; not seen: thoughts; images are not sent",
  });
  expect(of("closed")).toMatchObject({ status: "fail", message: expect.stringContaining("could not be reached") });
});

test("doctor shows profiles, warns of agents whose models are not configured, and asks the models of agents", async () => {
  await using strict = await startStandIn("openai-chat", () => ({ text: "Hello." }), { server: "mistral" });
  const at = { ...local, keyEnv: "LOCAL_KEY", baseUrl: `${strict.url}/v1` };
  await using folder = await folderWith(
    { ...at, name: "known", profile: "groq", models: { "m-1": {}, "m-2": {} } },
    { ...at, name: "learned", models: { "m-3": {} } },
  );
  const env = { LOCAL_KEY: STAND_IN_KEY };
  const run = async (...args: string[]) =>
    JSON.parse((await runCommand([...args, "--data-dir", folder.path, "--json"], { cwd: folder.path, env })).stdout);
  const agent = async (name: string, ...settings: string[]) => {
    const { agentId } = (await run("agents", "create", name)) as { agentId: string };
    await run("agents", "update", agentId, ...settings);
    return agentId;
  };
  await agent("Desk", "--provider", "known", "--model", "m-2");
  const lost = await agent("Lost", "--provider", "gone", "--fallback", "learned/m-9");

  const { checks } = (await run("doctor", "--port", "0", "--providers", folder.file, "--models")) as {
    checks: { name: string; status: string; message: string; fix?: string }[];
  };

  const texts = (name: string) => checks.flatMap((one) => (one.name === name ? [one.message] : []));
  const works = "text; not seen: call, parallel calls, structured answer, thoughts";
  expect(texts("known")).toEqual([
    "profile; the server does not get reasoning, reasoning_content",
    ...["m-1", "m-2"].map(
      (model) =>
        `${model}: ${works}; the server does not get reasoning, reasoning_content, stream_options; images are not sent`,
    ),
  ]);
  expect(texts("learned")).toEqual([`m-3: ${works}; the server does not get stream_options; images are not sent`]);
  expect(checks.filter(({ name }) => name === "agent")).toMatchObject([
    {
      status: "warn",
      message: expect.stringMatching(/^Lost: Endpoint gone is not configured.*Endpoint learned offers only m-3/),
      fix: `patchbay agents update ${lost} --provider NAME --model NAME`,
    },
  ]);
});
