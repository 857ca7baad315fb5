import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, inject, test } from "vitest";
import {
  type CommandOptions,
  type Running,
  runCommand,
  startCommand,
} from "../../packages/cli/test/support/command.ts";
import { expectedOf } from "../../packages/runtime/test/zod/releases.ts";
import type { Release } from "../../packages/runtime/test/zod/row.ts";
import { createProject, installNode, type Project } from "./project.ts";

const registry = inject("registry");

const MANAGERS = ["npm", "pnpm"] as const;
const NODES = ["22", "24", "26"] as const;
const ZODS = ["3.25", "4.0", "4.1", "4.2", "4.6"] as const;
const VITESTS = ["3", "4", "5"] as const;

/** Every pair of a zod with a Node.js, a vitest and a package manager, and of each of those with each other. */
const ALL = ZODS.flatMap((zod, i) =>
  NODES.map((node, j) => ({
    zod,
    node,
    vitest: VITESTS[(i + j) % VITESTS.length]!,
    manager: MANAGERS[(i + j) % MANAGERS.length]!,
  })),
);
const ONE = ALL.filter(({ zod, node }) => zod === "4.1" && node === "26");
const rows = process.env["PATCHBAY_TEST_ROWS"] === "all" ? ALL : ONE;

test.skipIf(registry === null).each(rows)(
  "an owner with $manager, Node.js $node, zod $zod and vitest $vitest goes from an empty folder to an answer",
  async ({ manager, node: version, zod, vitest }) => {
    await using tools = await createProject({ npmrc: "" });
    const [node = process.execPath] = process.versions.node.startsWith(version)
      ? []
      : await installNode(tools, version);
    await using project = await createProject({ npmrc: registry!.npmrc, manager, node });
    const packages = ["@patchbay/functions", `zod@~${zod}.0`, `vitest@${vitest}`];
    // The command needs a newer Node.js than functions do.
    await project.add(...packages, ...(version === "22" ? [] : ["@patchbay/cli"]));

    const releases: Release[] = zod === "3.25" ? ["3.25", "3.25/v4"] : [zod];
    for (const release of releases) await receivesEveryType(project, node, release);
    await project.write("service.ts", SERVICE);
    await project.write("service.test.ts", SERVICE_TEST);
    const tested = await project.run("node_modules/.bin/vitest", "run");
    expect(tested, tested.stdout + tested.stderr).toMatchObject({ code: 0 });

    const command = { cwd: project.folder, node, env: project.env };
    const main = `${project.folder}/node_modules/@patchbay/cli/dist/bin.cjs`;
    await (version === "22" ? connectsItself(project, command) : answersEverywhere({ ...command, main }));
  },
);

/** The model receives the same for every type of zod as in the tests of this repository. */
async function receivesEveryType(project: Project, node: string, release: Release): Promise<void> {
  for (const file of readdirSync(ZOD_TYPES).filter((one) => !one.endsWith(".test.ts"))) {
    const source = readFileSync(`${ZOD_TYPES}${file}`, "utf8");
    await project.write(`zod/${file}`, source.replaceAll("../../src/index.ts", "@patchbay/functions"));
  }
  const from = release === "3.25/v4" ? "zod/v4" : "zod";
  const program = `import { z } from "${from}";
    import { writtenBy } from "./releases.ts";
    console.log(JSON.stringify(writtenBy("${release}", z)));`;
  await project.write("zod/print.ts", program);
  const { stdout, stderr } = await project.run(node, "zod/print.ts");
  expect(stdout, stderr).not.toBe("");
  const expected = Object.entries(expectedOf(release, "one")).map(([name, schema]) => [
    name,
    schema instanceof RegExp ? expect.stringMatching(schema) : schema,
  ]);
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(expected));
}

const ZOD_TYPES = fileURLToPath(new URL("../../packages/runtime/test/zod/", import.meta.url));

/** The installed command: the lock file of the access, a query to `dev`, and one to `serve` with `connect`. */
async function answersEverywhere(command: CommandOptions): Promise<void> {
  await succeeds(["access", "service.ts", "--write"], command);
  await succeeds(["access", "service.ts", "--check"], command);

  await using dev = startCommand(["dev", "service.ts", "--port", "0", "--json"], command);
  await answers(await readyLine(dev), command);

  const { agentId = "", apiKey = "", runtimeKey = "" } = await createAgent(command);
  await using serve = startCommand([...SERVE, "--data-dir", "served"], { ...command, env: offline(command) });
  const { baseUrl = "" } = await readyLine(serve);
  const target = ["--url", baseUrl, "--agent", agentId, "--key", runtimeKey];
  await using connect = startCommand(["connect", "service.ts", "--json", ...target], command);
  await readyLine(connect);
  await answers({ baseUrl, agentId, apiKey }, command);
}

/** A program that connects its functions, to a control plane with another Node.js. */
async function connectsItself(project: Project, command: CommandOptions): Promise<void> {
  const plane = { cwd: project.folder };
  const { agentId = "", apiKey = "", runtimeKey = "" } = await createAgent(plane);
  await using serve = startCommand([...SERVE, "--data-dir", "served"], { ...plane, env: offline(plane) });
  const { baseUrl = "" } = await readyLine(serve);
  const target = { url: baseUrl, agentId, key: runtimeKey };
  await project.write(
    "program.ts",
    `import { connect } from "@patchbay/functions";
    import service from "./service.ts";
    await connect(service, ${JSON.stringify(target)}).ready;
    console.log(JSON.stringify({ ready: true }));`,
  );
  await using program = startCommand([], { ...command, main: "program.ts" });
  await readyLine(program);
  await answers({ baseUrl, agentId, apiKey }, plane);
}

const SERVE = ["serve", "--port", "0", "--json"];
const offline = ({ env }: CommandOptions) => ({ ...env, PATCHBAY_PROVIDER: "offline" });

async function createAgent(command: CommandOptions): Promise<Record<string, string>> {
  const run = async (...args: string[]) =>
    JSON.parse(await succeeds([...args, "--data-dir", "served", "--json"], command)) as Record<string, string>;
  const agent = await run("agents", "create", "Desk");
  return { ...agent, ...(await run("runtime-keys", "create", "--agent", agent["agentId"]!)) };
}

async function readyLine(running: Running): Promise<Record<string, string>> {
  return JSON.parse(await running.seen(/^\{"ready".*\}$/m)) as Record<string, string>;
}

async function succeeds(args: string[], command: CommandOptions): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, command);
  expect(code, `${args.join(" ")}:\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

async function answers({ baseUrl = "", agentId = "", apiKey = "" }: Record<string, string>, command: CommandOptions) {
  const target = ["--url", baseUrl, "--agent", agentId, "--key", apiKey];
  const stdout = await succeeds(["query", 'Greet "Ann"', "--role", "staff", "--json", ...target], command);
  expect(JSON.parse(stdout)).toMatchObject({ toolInteractions: [{ success: true, result: "Hello, Ann!" }] });
}

const SERVICE = `
import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";

const greet = defineFunction({
  name: "greet",
  description: "Greets a person by name.",
  input: z.object({ name: z.string().describe("First name") }),
  roles: ["staff"],
  effect: "read",
  handler: ({ name }) => "Hello, " + name + "!",
});

export default defineService({ name: "desk", functions: [greet] });
`;

const SERVICE_TEST = `
import { accessMatchers, callAs } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import service from "./service.ts";

expect.extend(accessMatchers);

test("staff can greet", async () => {
  const call = { functionName: "greet", input: { name: "Ann" } };
  expect(await callAs(service, { ...call, role: "staff" })).toEqual({ ok: true, value: "Hello, Ann!" });
  await expect(service).toAllow("greet", { role: "staff", input: { name: "Ann" } });
  await expect(service).toDeny("greet", { role: "guest" });
  await expect(expect(service).toAllow("greet", { role: "guest" })).rejects.toThrow("to be allowed");
});
`;
