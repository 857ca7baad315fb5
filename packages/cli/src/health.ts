import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Connection } from "@patchbay/functions";
import { CommandFailure, codeOf, reasonOf } from "@patchbay/loading/failure";

/** The state that `/readyz` reports; `loading` before the functions are loaded. */
type HealthState = Connection["state"] | "loading";

/**
 * Serves an orchestrator's probes until the process ends: `GET /healthz` is 200, `GET /readyz` is 200 while connected
 * and 503 otherwise, with the state. Returns the base address.
 */
export async function serveHealth(options: { host: string; port: number; state: () => HealthState }): Promise<string> {
  const { host, port, state } = options;
  const server = createServer((request, response) => {
    const [path] = (request.url ?? "").split("?");
    const answer = (status: number, body: object) =>
      response
        .writeHead(status, { "Content-Type": "application/json", "Cache-Control": "no-store" })
        .end(request.method === "HEAD" ? undefined : JSON.stringify(body));
    if (path !== "/healthz" && path !== "/readyz") return answer(404, { error: "Only /healthz and /readyz exist." });
    if (request.method !== "GET" && request.method !== "HEAD") return answer(405, { error: "Use GET." });
    if (path === "/healthz") return answer(200, { status: "ok" });
    return answer(state() === "connected" ? 200 : 503, { state: state() });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new CommandFailure(explain(error, host, port))));
    server.listen({ host, port }, resolve);
  });
  // The probes must not keep a process alive whose runtime has stopped.
  server.unref();
  const { port: actual } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${actual}`;
}

function explain(error: Error, host: string, port: number): string {
  const reason = codeOf(error) === "EADDRINUSE" ? "the port is in use" : reasonOf(error);
  return `The health checks cannot listen on ${host}:${port}: ${reason}. Choose another with --health-port or --health-host.`;
}
