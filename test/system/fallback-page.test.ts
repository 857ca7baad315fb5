import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { generateRetailData } from "../../examples/retail-desk/data/generate.ts";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const run = promisify(execFile);
const page = readFileSync(new URL("../../docs/guides/fallback.md", import.meta.url), "utf8");
const [command = ""] = /(?<=```sh\n)patchbay [^`]*(?=\n```)/.exec(page) ?? [];
const shown = [...page.matchAll(/```sh\n(curl [^`]*?)\n```\n\n```json\n([\s\S]*?)\n```/g)];

/** Ids and times differ from run to run. */
const steady = (text: string): string =>
  text.replace(/\b(thr|run)_[0-9a-f]{32}/g, "$1_…").replace(/("executionTimeMs":\s*)\d+/g, "$10");

test("the page's commands make the second model answer, and its output is correct", async () => {
  await using anthropic = await startStandIn("anthropic", () => ({
    error: { status: 400, code: "invalid_request_error", message: "Your credit balance is too low." },
  }));
  const lookUp = { name: "find_user_id_by_email", arguments: { email: "umar.zeller5567@example.com" } };
  await using openai = await startStandIn(
    "openai-responses",
    callThenAnswer([lookUp], ([found]) => `The user id is ${found?.content}.`),
  );
  await using gemini = await startStandIn("gemini", () => ({ text: "Not asked." }));
  await using folder = await temporaryFolder();
  const database = `sqlite:${join(folder.path, "data.db")}`;
  const service = createRetailDesk(createRetailStore(generateRetailData));
  const providers = { ...anthropic.config, ...openai.config, ...gemini.config };
  await using system = await startSystem({ service, database, providers });
  const { url: BASE, agentId: AGENT, apiKey: KEY } = system;

  const args = command.replace("$AGENT", AGENT).split(" ").slice(1);
  expect(await runCommand([...args, "--database", database])).toMatchObject({ code: 0 });

  expect(shown).toHaveLength(2);
  for (const [, curl = "", output = ""] of shown) {
    const silent = curl.replace("curl ", "curl --silent --show-error ");
    const { stdout } = await run("sh", ["-c", silent], { env: { ...process.env, BASE, AGENT, KEY } });
    expect(JSON.parse(steady(stdout))).toEqual(JSON.parse(steady(output)));
  }
  expect([anthropic, openai, gemini].map(({ requests }) => requests.length)).toEqual([2, 2, 0]);
});
