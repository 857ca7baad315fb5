import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OperatorLimits } from "@patchbay/protocol";
import { startBalancer } from "./balancer.ts";
import { openTables } from "./database.ts";
import { createHistory, readFunctionNotes } from "./history.ts";
import { startReplicas } from "./replicas.ts";
import { startServices } from "./services.ts";
import { createTenants, type Tenant, type TenantOptions } from "./tenants.ts";

export interface LabOptions extends TenantOptions {
  /** Default 3. With `embedded`, one. */
  replicas?: number;
  /** One SQLite file and no bus, instead of Postgres and NATS. */
  embedded?: boolean;
  /** Organisations, each with an agent. Default 2. */
  tenants?: number;
  serveArgs?: string[];
  /** Limits of the operator, for scenarios that need more than the defaults. */
  limits?: Partial<OperatorLimits>;
  /** A command that the replica of this index runs under: another clock, say. */
  under?: (index: number) => string[];
  /** Leads each replica to the database and to the bus by ways of its own, which can be cut. */
  ways?: boolean;
  /** Of the embedded database alone: a file system in memory, of this size. Needs root. */
  diskMb?: number;
}

export type Lab = Awaited<ReturnType<typeof startLab>>;

/** A whole deployment of real processes: replicas on a database server and a bus of their own, runtimes, a model provider. */
export async function startLab(options: LabOptions = {}) {
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
  const tenantStore = opening.use(await createTenants({ database, folder, url }));

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
    replicas,
    ports,
    /** Addresses of the replicas. */
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    /** Leads to any replica that takes connections. */
    url,
    /** Those that load is put on. */
    tenants,
    /** Those that were added for one scenario, too. */
    allTenants,
    addTenant,
    history,
    tables: () => openTables(database),
    functionNotes: () => readFunctionNotes(folder),
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

/** Kept, for whoever looks into a failure, where FAULT_LAB_KEEP is set. */
async function labFolder(opening: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-faults-"));
  if (process.env["FAULT_LAB_KEEP"] === undefined) opening.defer(() => rm(folder, { recursive: true, force: true }));
  else process.stderr.write(`fault-lab: kept in ${folder}\n`);
  await mkdir(join(folder, "logs"));
  return folder;
}
