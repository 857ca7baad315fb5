import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";
import { runCommand, startCommand, temporaryFolder, type Running } from "../../packages/cli/test/support/command.ts";
import { countingSource } from "./counting-source.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { client } from "@patchbay/test-support/system";

export type { Running };

const READY = /^\{"ready".*\}$/m;

// A test that times out does not reach its end, and must not leave a process behind either.
const deployed = new Set<Set<Running>>();
afterAll(() => Promise.all([...deployed].map(endAll)));

async function endAll(running: Set<Running>): Promise<void> {
  await Promise.all([...running].map((one) => one[Symbol.asyncDispose]()));
}

export interface DeploymentOptions {
  /** Environment variables of the control plane, such as its provider. */
  env: Record<string, string>;
  /** Default sandbox. Organisations of other tiers are given 100 USD. */
  tier?: string;
  serveArgs?: string[];
  /** URL of its database. Default: an embedded one in the folder. */
  database?: string;
  /** Source of the service that runtimes connect, by the folder. Default: the counting one. */
  source?: (folder: string) => string;
  /** Environment variables of runtimes. */
  runtimeEnv?: Record<string, string>;
}

/** The record of one run of a function of the counting service. */
export interface FunctionRun {
  name: string;
  id: string;
  callId: string;
  attempt: number;
  /** Its process id. */
  pid: number;
}

/** Runs the real commands on one data folder: a control plane that can be killed and restarted, and runtimes. */
export async function startDeployment({ env, tier = "sandbox", serveArgs = [], ...rest }: DeploymentOptions) {
  const { database, source = countingSource, runtimeEnv = {} } = rest;
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  const counted = join(folder.path, "function-runs");
  await writeFile(join(folder.path, "service.ts"), source(folder.path));
  const place = ["--data-dir", folder.path, ...(database === undefined ? [] : ["--database", database])];
  const running = opening.adopt(new Set<Running>(), endAll);
  deployed.add(running);

  async function admin<T = Record<string, string>>(...args: string[]): Promise<T> {
    const { code, stdout, stderr } = await runCommand([...args, ...place, "--json"]);
    if (code !== 0) throw new Error(`${args.join(" ")} exited with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  async function startServe(port: number): Promise<{ command: Running; baseUrl: string }> {
    const args = ["serve", "--port", String(port), ...place, "--json", ...serveArgs];
    const command = startCommand(args, { env });
    running.add(command);
    const { baseUrl } = JSON.parse(await command.seen(READY)) as { baseUrl: string };
    return { command, baseUrl };
  }

  const { orgId = "" } = await admin("orgs", "create", "Test", "--tier", tier);
  if (tier !== "sandbox") await admin("credits", "grant", "--org", orgId, "100");
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "Desk", "--org", orgId);
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  // The deployment keeps its first port after restarts.
  const first = await startServe(await freePort());
  const { baseUrl: url } = first;
  let serve = first.command;

  const held = opening.move();
  return {
    ...client({ url }, { agentId, apiKey, accessToken: "" }),
    orgId,
    agentId,
    apiKey,
    runtimeKey,
    admin,
    databaseFile: join(folder.path, "patchbay.db"),
    get serve() {
      return serve;
    },
    /** Starts the control plane again after it exited, with the same data and port. */
    async restart(): Promise<void> {
      serve = (await startServe(Number(new URL(url).port))).command;
    },
    async kill(command: Running): Promise<void> {
      command.process.kill("SIGKILL");
      await command.finished;
    },
    /** Starts a runtime and waits until it is connected. */
    async connect(...args: string[]): Promise<Running> {
      const command = startCommand(["connect", "service.ts", "--json", ...args], {
        cwd: folder.path,
        env: { ...runtimeEnv, PATCHBAY_URL: url, PATCHBAY_AGENT: agentId, PATCHBAY_RUNTIME_KEY: runtimeKey },
      });
      running.add(command);
      await command.seen(READY);
      return command;
    },
    /** Lets the functions that wait for this id end. */
    open: (id: string) => writeFile(join(folder.path, `gate-${id}`), ""),
    functionRuns(): FunctionRun[] {
      if (!existsSync(counted)) return [];
      const lines = readFileSync(counted, "utf8").split("\n");
      return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as FunctionRun);
    },
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;

/** Rows of a database file that another process may be writing. */
export function readDatabase(file: string): Disposable & { rows<Row>(sql: string): Row[] } {
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
  return {
    rows: <Row>(sql: string) => database.prepare(sql).all() as Row[],
    [Symbol.dispose]: () => database.close(),
  };
}
