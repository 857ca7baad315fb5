import { spawn } from "node:child_process";

export type PackageManager = "npm" | "pnpm" | "yarn" | "bun";

/** The package manager that started this process, from its user agent, such as `pnpm/12.21.0 npm/? node/v26.10.0 linux x64`. */
export function packageManagerOf(userAgent: string | undefined): PackageManager {
  const [, name] = /^(npm|pnpm|yarn|bun)\//.exec(userAgent ?? "") ?? [];
  return (name as PackageManager | undefined) ?? "npm";
}

/** Rewrites the npm commands in a text for another package manager. */
export function commandsFor(manager: PackageManager, text: string): string {
  if (manager === "npm") return text;
  return text
    .replaceAll(/\bnpm run (\w+) -- /g, `${manager} run $1 `)
    .replaceAll(/\bnpm (?:run )?(install|test|dev|roles|types|connect|query)\b/g, (_command, word: string) =>
      word === "install" ? `${manager} install` : `${manager} run ${word}`,
    );
}

/** Arguments for an install that sends no audit or funding requests. */
export const installArguments = (manager: PackageManager): string[] =>
  manager === "npm" ? ["install", "--no-audit", "--no-fund"] : ["install"];

/** Runs a command in a folder, with all output on stderr. Resolves with its exit code, null if a signal ended it. */
export function runCommand(command: string, args: readonly string[], folder: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    // On Windows, package managers are scripts, which only a shell starts.
    const shell = process.platform === "win32";
    const child = spawn(command, [...args], { cwd: folder, stdio: ["ignore", 2, 2], shell });
    child.once("error", reject);
    child.once("close", resolve);
  });
}
