import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "@patchbay/test-support/free-port";
import { type PatchbayProcess, patchbayProcess } from "./process.ts";
import type { LabOptions, Services } from "./services.ts";

/** Starts the replicas, each on a fixed port. */
export async function startReplicas(
  opening: AsyncDisposableStack,
  folder: string,
  { database, nats, proxies, env, version }: Services,
  { embedded = false, replicas: count = embedded ? 1 : 3, serveArgs = [], under, limits = {} }: LabOptions,
): Promise<{ replicas: PatchbayProcess[]; ports: number[] }> {
  const limitsFile = join(folder, "limits.json");
  await writeFile(limitsFile, JSON.stringify(limits));
  const ports: number[] = [];
  for (let index = 0; index < count; index++) ports.push(await freePort());
  const replicas = ports.map((port, index) => {
    const proxy = proxies[index];
    const store = proxy ? withPort(database, proxy.database.port) : database;
    const bus = nats ? ["--nats", proxy ? withPort(nats.url, proxy.bus.port) : nats.url] : [];
    const args = ["serve", "--port", String(port), "--database", store, "--data-dir", folder, "--json", ...bus];
    const name = `replica-${index}`;
    const options = { version, env, logFile: join(folder, "logs", name), under: under?.(index) ?? [] };
    return opening.use(patchbayProcess(name, [...args, "--limits", limitsFile, ...serveArgs], options));
  });
  await Promise.all(replicas.map((replica) => replica.start()));
  return { replicas, ports };
}

function withPort(url: string, port: number): string {
  return Object.assign(new URL(url), { port: String(port) }).href;
}
