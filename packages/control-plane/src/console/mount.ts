import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Hono } from "hono";
import type { HttpEnv } from "../http/kernel/exchange.ts";
import type { ConsoleApiDeps } from "./console-api.ts";
import { mountStaticFiles } from "./static-files.ts";

/**
 * Adds the console to the service: its API under `/api` and its pages under `/console`. The API is loaded with its first request:
 * the schemas of its routes cost memory and start-up time.
 */
export function mountConsole(app: Hono<HttpEnv>, deps: ConsoleApiDeps): void {
  let loading: Promise<Hono<HttpEnv>> | undefined;
  const api = () => (loading ??= import("./console-api.ts").then(({ consoleApi }) => consoleApi(deps)));
  app.all("/api/*", async (c) => (await api()).fetch(c.req.raw, c.env));
  mountStaticFiles(app, deps.consoleFiles ?? packagedConsole());
}

/** Where the published package has the built console; undefined where it was not built. */
function packagedConsole(): string | undefined {
  const folder = fileURLToPath(new URL("./console/files/", import.meta.url));
  return existsSync(folder) ? folder : undefined;
}
