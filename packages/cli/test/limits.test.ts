import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const env = { PATCHBAY_PROVIDER: "offline" };

test("serve --limits applies the limits of its file", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await writeFile(join(folder.path, "limits.json"), '{"callsPerTurn": 2}');
  const cwd = folder.path;
  const args = ["serve", "--port", "0", "--data-dir", "data", "--limits", "limits.json", "--json"];
  await using serve = startCommand(args, { cwd, env });
  const { baseUrl } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };
  const admin = async (...words: string[]) =>
    JSON.parse((await runCommand([...words, "--data-dir", "data", "--json"], { cwd })).stdout) as Record<
      string,
      string
    >;
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk");
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const target = { PATCHBAY_URL: baseUrl, PATCHBAY_AGENT: agentId };
  await using runtime = startCommand(["connect", "service.ts", "--json"], {
    cwd,
    env: { ...target, PATCHBAY_RUNTIME_KEY: runtimeKey },
  });
  await runtime.seen('"ready":true');

  // The offline model calls the function once for each name, in one turn.
  const { stdout } = await runCommand(["query", 'Greet "Ann", "Bob" and "Eve"', "--json"], {
    env: { ...target, PATCHBAY_API_KEY: apiKey },
  });

  const { toolInteractions } = JSON.parse(stdout) as { toolInteractions: { success: boolean; code?: string }[] };
  expect(toolInteractions.map(({ success, code }) => (success ? "ran" : code))).toEqual(["ran", "ran", "call_limit"]);
});

test.each([
  ["that is missing", undefined, "ENOENT"],
  ["that is not JSON", "callsPerTurn = 2", "This one is not valid JSON."],
  ["with an unknown name", '{"callsPerturn": 2}', "callsPerturn"],
  ["with a value that is not a count", '{"callsPerTurn": 0, "streamsPerKey": "many"}', "callsPerTurn: "],
])("a limits file %s exits 1 with one line that names it", async (_what, text, reason) => {
  await using folder = await temporaryFolder();
  if (text !== undefined) await writeFile(join(folder.path, "limits.json"), text);

  const args = ["serve", "--port", "0", "--limits", "limits.json", "--json"];
  const { code, stdout, stderr } = await runCommand(args, { cwd: folder.path, env });

  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("--limits limits.json cannot be used");
  expect(stderr).toContain(reason);
  expect(stderr.trimEnd().split("\n")).toHaveLength(1);
});
