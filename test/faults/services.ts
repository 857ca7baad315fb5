import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ownNats } from "../support/nats.ts";
import { ownPostgres } from "../support/postgres-server.ts";
import { plainDatabase } from "./database.ts";
import { mountDisk } from "./disk.ts";
import type { LabOptions } from "./lab.ts";
import { labProcess } from "./process.ts";
import { startWay, type Way } from "./way.ts";

const program = fileURLToPath(new URL("provider-process.ts", import.meta.url));

/** From a replica to what it needs. */
interface Ways {
  database: Way;
  bus: Way;
}

export type Services = Awaited<ReturnType<typeof startServices>>;

/** What replicas stand on. */
export async function startServices(opening: AsyncDisposableStack, folder: string, options: LabOptions) {
  const { embedded = false, replicas = 3, diskMb } = options;
  const provider = opening.use(labProcess("provider", [program], { logFile: join(folder, "logs", "provider") }));
  const { env } = (await provider.start()) as { env: Record<string, string> };
  const disk = diskMb === undefined ? folder : opening.use(mountDisk(join(folder, "disk"), diskMb)).path;
  if (embedded) {
    const none = { postgres: undefined, nats: undefined, ways: [] as Ways[] };
    return { ...none, database: `sqlite:${join(disk, "patchbay.db")}`, disk, env };
  }
  const postgres = opening.use(await ownPostgres());
  const nats = opening.use(await ownNats());
  const ways: Ways[] = [];
  for (let index = 0; options.ways && index < replicas; index++)
    ways.push({ database: opening.use(await startWay(postgres.port)), bus: opening.use(await startWay(nats.port)) });
  return { postgres, nats, ways, database: await plainDatabase(postgres.url), disk, env };
}
