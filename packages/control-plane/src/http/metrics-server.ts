import { createHttpApp, METRICS_ROUTES } from "./app.ts";
import type { HttpDeps } from "./deps.ts";
import { createHttpServer } from "./server.ts";

/** Serves the metrics, and nothing else, at a port of their own. Disposing closes it. */
export async function serveMetrics(
  deps: HttpDeps,
  options: { host: string; port: number },
): Promise<AsyncDisposable & { port: number }> {
  const app = createHttpApp(deps, METRICS_ROUTES);
  const server = createHttpServer({ app, upgrade: (_request, socket) => socket.destroy(), log: deps.log });
  const { port } = await server.listen({ ...options, portOption: "--metrics-port" });
  return { port, [Symbol.asyncDispose]: () => server.close() };
}
