/**
 * The process that runs the functions under `patchbay dev`: argv[2] is their file. It obeys its parent only, and ends when
 * the channel to the parent closes, however the parent ended.
 */
import type { ConnectOptions, Log, Service } from "@patchbay/functions";
import { type Environment, readEnvironment } from "./config.ts";
import { lockPathOf, reportedLock } from "./lock-file.ts";
import { createHumanLog, logLevel } from "./log.ts";
import { flowKeysIn } from "./secret-files.ts";
import { type ConnectionTarget, type FromRuntime, OTEL, type ToRuntime } from "./runtime-child.ts";
import { startTelemetry, type StopTelemetry } from "./telemetry.ts";
import { describeLoadError } from "@patchbay/loading/load-error";
import { loadService } from "./service-file.ts";
import { cacheCompiledCode, startSmall } from "./startup.ts";

// A terminal sends both signals to every process in the group; the parent stops this one in its own order.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.on("disconnect", () => process.exit(0));

cacheCompiledCode();
startSmall();
await serveFunctions(process.argv[2] ?? "");

/** Loads the functions of `file` and connects them when the parent sends the target. */
async function serveFunctions(file: string): Promise<void> {
  const target = new Promise<ConnectionTarget | undefined>((resolve) => {
    process.on("message", (message: ToRuntime) => resolve(message.type === "connect" ? message.target : undefined));
  });
  try {
    const environment = readEnvironment();
    const log = createQuietLog(environment);
    const stopTelemetry = process.argv[3] === OTEL && (await startTelemetry("patchbay-runtime", environment));
    const onFile = (path: string) => send({ type: "file", path });
    const service = await loadService(file, { onFile, log });
    const lock = await reportedLock(file, log);
    // A changed or new lock starts a new process, which reports it.
    onFile(lockPathOf(file));
    send({ type: "loaded", manifest: service.manifest });
    const connectTo = await target;
    if (connectTo) await serve(service, { ...connectTo, ...lock, log }, stopTelemetry || undefined);
    else process.exit(0);
  } catch (error) {
    send({ type: "failed", reason: describeLoadError(error, file) }, () => process.exit(1));
  }
}

/** The live log of the parent already shows what happens at level `info`, and that the control plane closes. */
function createQuietLog(environment: Environment): Log {
  const level = logLevel(environment, "warn");
  let closing = false;
  process.on("message", (message: ToRuntime) => (closing ||= message.type === "closing"));
  return createHumanLog(() => (closing ? "error" : level));
}

async function serve(
  service: Service,
  target: ConnectionTarget & Pick<ConnectOptions, "accessLock" | "log">,
  stopTelemetry?: StopTelemetry,
): Promise<void> {
  const { connect } = await import("@patchbay/functions");
  const flowKeys = flowKeysIn(readEnvironment());
  const runtime = connect(service, { ...target, flowKeys, proxy: false, reportErrors: true, reportCases: true });
  process.on("message", (message: ToRuntime) => {
    if (message.type === "stop")
      void runtime
        .stop()
        .then(stopTelemetry)
        .finally(() => process.exit(0));
  });
  await runtime.ready;
  // When this process ends, the parent starts another one with the current keys.
  runtime.ended.catch(() => process.exit(1));
  send({ type: "connected" });
}

function send(message: FromRuntime, then: () => void = () => {}): void {
  process.send?.(message, then);
}
