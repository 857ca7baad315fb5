import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** The environment of a shell with the packages installed and only the keys in `env`. */
export const shellEnvironment = (env: Record<string, string> = {}): Record<string, string> => ({
  PATH: `${root}node_modules/.bin:${process.env["PATH"] ?? ""}`,
  HOME: process.env["HOME"] ?? "/",
  NO_COLOR: "1",
  ...env,
});

/** Runs the curl snippet of a page unchanged. */
export async function runCurl(
  snippet: string,
  env?: Record<string, string>,
): Promise<{ status: number; body: string }> {
  // Append the status to the output, and suppress the progress meter.
  const quiet = `${snippet} --silent --show-error --write-out '\n%{http_code}'`;
  const { stdout } = await promisify(execFile)("sh", ["-c", quiet], { env: shellEnvironment(env), timeout: 60_000 });
  const end = stdout.lastIndexOf("\n");
  return { status: Number(stdout.slice(end + 1)), body: stdout.slice(0, end) };
}
