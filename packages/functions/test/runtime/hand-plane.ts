import { connect, silentLog, type ConnectOptions, type Service } from "@patchbay/functions";
import { afterEach } from "vitest";
import { startHandPlane } from "../../../../test/support/hand-plane.ts";
import { handService } from "../../../../test/support/hand-service.ts";

const opened: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A control plane driven by hand, until the test ends. */
export async function plane(options: { heartbeatMs?: number; port?: number } = {}) {
  const started = await startHandPlane(options);
  opened.push(() => started[Symbol.asyncDispose]());
  return started;
}

/** A runtime that retries quickly, until the test ends. */
export function runtimeOf(url: string, service: Service = handService(), change: Partial<ConnectOptions> = {}) {
  const runtime = connect(service, {
    url,
    key: "key-of-a",
    log: silentLog,
    backoff: { firstMs: 10, baseMs: 10, maxMs: 50 },
    ...change,
  });
  opened.push(() => runtime.stop({ drainMs: 0 }));
  return runtime;
}
