import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes the data folder where there is none, and keeps it out of Git: it holds keys in clear text. */
export function makeDataFolder(folder: string): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, ".gitignore"), "*\n");
}
