import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Log } from "@patchbay/functions";
import { isJsonObject, type JsonObject } from "@patchbay/kit";

/** The lock file that belongs to a service file. */
export const lockPathOf = (servicePath: string): string => join(dirname(servicePath), "access.lock.json");

/**
 * The `accessLock` option of `connect` for a service file: the lock next to it, if there is one. An unreadable one is
 * logged: the service connects without it.
 */
export async function reportedLock(servicePath: string, log: Log): Promise<{ accessLock?: JsonObject }> {
  const path = lockPathOf(servicePath);
  if (!existsSync(path)) return {};
  try {
    const accessLock: unknown = JSON.parse(await readFile(path, "utf8"));
    if (isJsonObject(accessLock)) return { accessLock };
    log.warn("the access lock is not shown in the console: it is not a JSON object", { path });
  } catch (error) {
    log.warn("the access lock is not shown in the console: it cannot be read", { path, error });
  }
  return {};
}
