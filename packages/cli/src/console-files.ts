import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The console as it was built in this repository; nothing where the package carries it itself. */
export function consoleFiles(): { consoleFiles?: string } {
  const folder = fileURLToPath(new URL("../../console/dist", import.meta.url));
  return existsSync(folder) ? { consoleFiles: folder } : {};
}
