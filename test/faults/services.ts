import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OperatorLimits } from "@patchbay/protocol";
import { ownNats } from "@patchbay/test-support/nats";
import { ownPostgres } from "@patchbay/test-support/postgres-server";
import { plainDatabase } from "./database.ts";
import { labProcess } from "./process.ts";
import type { TenantOptions } from "./tenants.ts";
import { startCuttableProxy, type CuttableProxy } from "./cuttable-proxy.ts";
import { THIS_VERSION, writeVersion } from "./versions.ts";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

export interface LabOptions extends TenantOptions {
  /** Default 3. With `embedded`, one. */
  replicas?: number;
  /** The commit whose version creates the database, and with which all processes start. Default: this version. */
  commit?: string;
  /** One SQLite file and no bus, instead of Postgres and NATS. */
  embedded?: boolean;
  /** Organisations, each with an agent. Default 2. */
  tenants?: number;
  serveArgs?: string[];
  /** Limits of the operator, for scenarios that need more than the defaults. */
  limits?: Partial<OperatorLimits>;
  /** A command that runs the replica of this index, for example with another clock. */
  under?: (index: number) => string[];
  /** A program that `under` needs. */
  needs?: "faketime" | "strace";
  /** Connects each replica to the database and the bus through its own proxies, which can be cut. */
  proxies?: boolean;
  /** With `embedded` only: keeps the database in a memory file system of this size. Needs root. */
  diskMb?: number;
}

const program = fileURLToPath(new URL("provider-process.ts", import.meta.url));

/** The proxies of one replica. */
interface Proxies {
  database: CuttableProxy;
  bus: CuttableProxy;
}

export type Services = Awaited<ReturnType<typeof startServices>>;

/** Starts the services that replicas use. */
export async function startServices(opening: AsyncDisposableStack, folder: string, options: LabOptions) {
  const { embedded = false, replicas = 3, diskMb, commit } = options;
  const version = commit === undefined ? THIS_VERSION : writeVersion(commit, join(folder, "version"));
  const provider = opening.use(labProcess("provider", [program], { logFile: join(folder, "logs", "provider") }));
  const { env } = (await provider.start()) as { env: Record<string, string> };
  const disk = diskMb === undefined ? folder : opening.use(mountDisk(join(folder, "disk"), diskMb)).path;
  if (embedded) {
    const none = { version, postgres: undefined, nats: undefined, proxies: [] as Proxies[] };
    return { ...none, database: `sqlite:${join(disk, "patchbay.db")}`, disk, env };
  }
  const postgres = opening.use(await ownPostgres());
  const nats = opening.use(await ownNats());
  const proxies: Proxies[] = [];
  for (let index = 0; options.proxies && index < replicas; index++)
    proxies.push({
      database: opening.use(await startCuttableProxy(postgres.port)),
      bus: opening.use(await startCuttableProxy(nats.port)),
    });
  return { version, postgres, nats, proxies, database: await plainDatabase(postgres.url), disk, env };
}

/** Mounts a memory file system of this size. Needs root. */
function mountDisk(path: string, sizeMb: number): { path: string } & Disposable {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", path]);
  return { path, [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", path]) };
}
