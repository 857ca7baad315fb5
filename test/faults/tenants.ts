import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAdmin } from "../../packages/control-plane/src/accounts/admin.ts";
import { openStore } from "../../packages/control-plane/src/store/open.ts";
import { type LabProcess, patchbayProcess } from "./process.ts";

const service = fileURLToPath(new URL("counting-service.ts", import.meta.url));

export interface TenantOptions {
  /** Default `scale`. */
  tier?: string;
  /** Default 1,000 USD. */
  creditsMicros?: number;
  /** Default 2. */
  runtimes?: number;
  /** Concurrency of each runtime. Default 64. */
  concurrency?: number;
}

/** An organisation with an agent, its keys and its runtimes. */
export interface Tenant {
  /** Prefix of the ids of its queries, which identifies data in the wrong place. */
  readonly name: string;
  readonly orgId: string;
  readonly agentId: string;
  readonly apiKey: string;
  readonly runtimeKey: string;
  readonly runtimes: LabProcess[];
  /** Starts one more runtime. */
  connect(): Promise<LabProcess>;
}

/** Creates organisations directly in the database, and their runtimes at `url`. */
export async function createTenants({ database, folder, url }: { database: string; folder: string; url: string }) {
  await using opening = new AsyncDisposableStack();

  async function create(name: string, options: TenantOptions): Promise<Tenant> {
    const { tier = "scale", creditsMicros = 1_000_000_000, concurrency = 64 } = options;
    const store = await openStore(database);
    const admin = createAdmin({ store });
    const { orgId } = await admin.createOrg(name, tier);
    if (tier !== "sandbox" && creditsMicros > 0) await store.accounts.grant(orgId, creditsMicros);
    const { agentId, apiKey } = await admin.createAgent(name, { orgId });
    const { runtimeKey } = await admin.createRuntimeKey({ agentId });
    await store.close();

    const runtimes: LabProcess[] = [];
    const args = ["connect", service, "--url", url, "--agent", agentId, "--json", "--concurrency", String(concurrency)];
    const env = { FAULT_LAB_FOLDER: folder, FAULT_LAB_TENANT: name, PATCHBAY_RUNTIME_KEY: runtimeKey };
    return {
      name,
      orgId,
      agentId,
      apiKey,
      runtimeKey,
      runtimes,
      async connect() {
        const own = `runtime-${name}-${runtimes.length}`;
        const runtime = running.use(patchbayProcess(own, args, { env, logFile: join(folder, "logs", own) }));
        runtimes.push(runtime);
        await runtime.start();
        return runtime;
      },
    };
  }

  const running = opening.move();
  return { create, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

/** Grants an organisation credits. */
export async function grantMicros(database: string, orgId: string, micros: number): Promise<void> {
  const store = await openStore(database);
  await store.accounts.grant(orgId, micros);
  await store.close();
}
