import { join } from "node:path";
import { openStore } from "@patchbay/store/open";
import { type PatchbayProcess, patchbayProcess } from "./process.ts";

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
  readonly runtimes: PatchbayProcess[];
  /** Starts one more runtime, of the version in this folder. Default: that of the lab. */
  connect(version?: string): Promise<PatchbayProcess>;
}

/** Creates organisations directly in the database, with the version of the lab, and their runtimes at `url`. */
export async function createTenants(
  { database, version }: { database: string; version: string },
  { folder, url }: { folder: string; url: string },
) {
  await using opening = new AsyncDisposableStack();
  const { openStore, createAdmin } = await moduleOf(version);

  async function create(name: string, options: TenantOptions): Promise<Tenant> {
    const { tier = "scale", creditsMicros = 1_000_000_000, concurrency = 64 } = options;
    const store = await openStore(database);
    const admin = createAdmin({ store });
    const { orgId } = await admin.createOrg(name, tier);
    if (tier !== "sandbox" && creditsMicros > 0) await store.accounts.grant(orgId, creditsMicros);
    const { agentId, apiKey } = await admin.createAgent(name, { orgId });
    const { runtimeKey } = await admin.createRuntimeKey({ agentId });
    await store.close();

    const runtimes: PatchbayProcess[] = [];
    const to = ["--url", url, "--agent", agentId, "--json", "--concurrency", String(concurrency)];
    const env = { FAULT_LAB_FOLDER: folder, FAULT_LAB_TENANT: name, PATCHBAY_RUNTIME_KEY: runtimeKey };
    return {
      name,
      orgId,
      agentId,
      apiKey,
      runtimeKey,
      runtimes,
      async connect(used = version) {
        const own = `runtime-${name}-${runtimes.length}`;
        const args = ["connect", join(used, "test/faults/counting-service.ts"), ...to];
        const options = { version: used, env, logFile: join(folder, "logs", own) };
        const runtime = running.use(patchbayProcess(own, args, options));
        runtimes.push(runtime);
        await runtime.start();
        return runtime;
      },
    };
  }

  const running = opening.move();
  return { create, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

/** The administration of a version: a newer one would migrate the database. */
async function moduleOf(version: string) {
  const file = join(version, "packages/control-plane/src/admin.ts");
  return (await import(file)) as typeof import("@patchbay/control-plane/admin");
}

/** Grants an organisation credits. */
export async function grantMicros(database: string, orgId: string, micros: number): Promise<void> {
  const store = await openStore(database);
  await store.accounts.grant(orgId, micros);
  await store.close();
}
