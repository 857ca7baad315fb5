import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Where the published package carries the built console; undefined where it was not built. */
export function packagedConsole(): string | undefined {
  const folder = fileURLToPath(new URL("./console/files/", import.meta.url));
  return existsSync(folder) ? folder : undefined;
}
