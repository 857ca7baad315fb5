import { connect, silentLog, type ConnectOptions, type Service } from "@patchbay/functions";
import { afterEach } from "vitest";
import { startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";

const opened: (() => PromiseLike<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A control plane that the test drives; closed when the test ends. */
export async function plane(options: { heartbeatMs?: number; port?: number } = {}) {
  const started = await startFakeControlPlane(options);
  opened.push(() => started[Symbol.asyncDispose]());
  return started;
}

/** A runtime that retries quickly; stopped when the test ends. */
export function runtimeOf(url: string, service: Service = fakeService(), change: Partial<ConnectOptions> = {}) {
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
