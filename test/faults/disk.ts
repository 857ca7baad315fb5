import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";

/** Mounts a file system in memory that is this large. Needs root. */
export function mountDisk(path: string, sizeMb: number): { path: string } & Disposable {
  mkdirSync(path);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m`, "tmpfs", path]);
  return { path, [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", path]) };
}
