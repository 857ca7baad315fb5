import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scriptFor, startStandIn } from "@patchbay/test-support/providers";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

test("dev --prices charges a model at the prices of its file", async () => {
  const usage = { input: 1_000, cachedInput: 200, cacheWriteInput: 300, output: 100 };
  await using standIn = await startStandIn("openai-chat", scriptFor({ text: "Hello.", usage }));
  await using folder = await temporaryFolder();
  const cwd = folder.path;
  await writeFile(join(cwd, "service.ts"), serviceSource());
  const price = { input: 2, cachedInput: 1, cacheWriteInput: 3, output: 4 };
  await writeFile(join(cwd, "prices.json"), JSON.stringify({ models: { "llama-4": price } }));
  const { baseUrl, apiKey: key = "" } = standIn.config.openai ?? {};
  const env = { OPENAI_BASE_URL: baseUrl ?? "", OPENAI_API_KEY: key, PATCHBAY_MODEL: "openai/llama-4-latest" };
  const args = ["dev", "service.ts", "--port", "0", "--no-watch", "--prices", "prices.json", "--json"];
  await using dev = startCommand(args, { cwd, env });
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as Record<string, string>;

  const target = {
    PATCHBAY_URL: ready["baseUrl"],
    PATCHBAY_AGENT: ready["agentId"],
    PATCHBAY_API_KEY: ready["apiKey"],
  };
  const { stdout } = await runCommand(["query", "Hello", "--json"], { cwd, env: target as Record<string, string> });

  const micros = 500 * 2 + 200 * 1 + 300 * 3 + 100 * 4;
  expect(JSON.parse(stdout)).toMatchObject({
    success: true,
    usage: { inputTokens: 1_000, cachedInputTokens: 200, cacheWriteInputTokens: 300, costUsd: micros / 1_000_000 },
  });
});

test.each(["serve", "dev service.ts"])(
  "%s --prices names the file, the model and the member of a fault",
  async (line) => {
    await using folder = await temporaryFolder();
    const cwd = folder.path;
    await writeFile(join(cwd, "service.ts"), serviceSource());
    await writeFile(join(cwd, "prices.json"), '{"models": {"llama-4": {"input": "cheap", "output": 2}}}');

    const args = [...line.split(" "), "--port", "0", "--prices", "prices.json", "--json"];
    const { code, stdout, stderr } = await runCommand(args, { cwd, env: { PATCHBAY_PROVIDER: "offline" } });

    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/--prices prices\.json cannot be used: .*Model llama-4, input: must be a number of USD/);
  },
);

test("doctor reports an unusable price file", async () => {
  await using folder = await temporaryFolder();
  const env = { PATCHBAY_PRICES: "/no/such.json", PATCHBAY_PROVIDER: "offline" };

  const { stdout } = await runCommand(["doctor", "--port", "0", "--json"], { cwd: folder.path, env });

  const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] };
  expect(checks).toContainEqual(expect.objectContaining({ name: "prices", status: "fail" }));
});
