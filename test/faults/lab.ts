import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startBalancer } from "./balancer.ts";
import { openTables } from "./database.ts";
import { createHistory, readFunctionNotes } from "./history.ts";
import { startReplicas } from "./replicas.ts";
import { type LabOptions, startServices } from "./services.ts";
import { createTenants, type Tenant, type TenantOptions } from "./tenants.ts";

export type Lab = Awaited<ReturnType<typeof startLab>>;

/** Starts a deployment of real processes: replicas with their own database server and bus, runtimes, a model provider. */
export async function startLab(options: LabOptions = {}, patience = 1) {
  requireTool(options.needs);
  await using opening = new AsyncDisposableStack();
  const folder = await labFolder(opening);
  const services = await startServices(opening, folder, options);
  const { database } = services;
  const history = createHistory(join(folder, "history.jsonl"));
  const { replicas, ports } = await startReplicas(opening, folder, services, options);
  const balancer = opening.use(await startBalancer(() => ports));
  const url = `http://127.0.0.1:${balancer.port}`;
  const allTenants: Tenant[] = [];
  let count = 0;
  const tenantStore = opening.use(await createTenants(services, { folder, url }));

  async function addTenant(more: TenantOptions): Promise<Tenant> {
    const tenant = await tenantStore.create(`t${count++}`, more);
    allTenants.push(tenant);
    await Promise.all(Array.from({ length: more.runtimes ?? 2 }, () => tenant.connect()));
    return tenant;
  }

  for (let index = 0; index < (options.tenants ?? 2); index++) await addTenant(options);
  const tenants = [...allTenants];
  const held = opening.move();
  return {
    ...services,
    folder,
    /** Factor for the limits of waits: 1 on an idle machine, more if other tests run at the same time. */
    patience,
    replicas,
    ports,
    /** URLs of the replicas. */
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    /** URL of a balancer in front of all replicas. */
    url,
    /** Tenants that the load uses. */
    tenants,
    /** Tenants of the load, and those added for one scenario. */
    allTenants,
    addTenant,
    history,
    tables: () => openTables(database),
    functionNotes: () => readFunctionNotes(folder),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

function requireTool(name: string | undefined): void {
  if (name === undefined || !spawnSync(name, ["--version"]).error) return;
  throw new Error(`${name} is not installed, and the replicas run under it. Install it: apt-get install ${name}.`);
}

/** A temporary folder, which is kept if FAULT_LAB_KEEP is set. */
async function labFolder(opening: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-faults-"));
  if (process.env["FAULT_LAB_KEEP"] === undefined) opening.defer(() => rm(folder, { recursive: true, force: true }));
  else process.stderr.write(`fault-lab: kept in ${folder}\n`);
  await mkdir(join(folder, "logs"));
  return folder;
}
