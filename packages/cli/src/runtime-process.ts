/**
 * The process that runs the functions under `patchbay dev`: argv[2] is their file. It obeys its parent only, and ends when
 * the channel to the parent closes, however the parent ended.
 */
import inspector from "node:inspector";
import { connect as connectTcp } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log, Service } from "@patchbay/functions";
import { type Environment, readEnvironment } from "./config.ts";
import { lockPathOf, reportedLock } from "./lock-file.ts";
import { createHumanLog, logLevel } from "./log.ts";
import { flowKeysIn } from "./secret-files.ts";
import { type FromRuntime, OTEL, type ToRuntime } from "./runtime-child.ts";
import { drainOnStrayError } from "./stray-errors.ts";
import { startTelemetry, type StopTelemetry } from "./telemetry.ts";
import { describeLoadError } from "@patchbay/loading/load-error";
import { loadService } from "./service-file.ts";
import { cacheCompiledCode, startSmall } from "./startup.ts";

const PORT_POLL_MS = 100;
/** How long the process before this one may take to release the debugger's port. */
const PORT_WAIT_MS = 10_000;

// A terminal sends both signals to every process in the group; the parent stops this one in its own order.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.on("disconnect", () => process.exit(0));

cacheCompiledCode();
startSmall();
await serveFunctions(process.argv[2] ?? "");

/** Loads the functions of `file` and connects them when the parent sends the target. */
async function serveFunctions(file: string): Promise<void> {
  const target = new Promise<Connect | undefined>((resolve) => {
    process.on("message", (message: ToRuntime) => {
      if (message.type !== "relock") resolve(message.type === "connect" ? message : undefined);
    });
  });
  try {
    const environment = readEnvironment();
    const log = createQuietLog(environment);
    const stopTelemetry = process.argv[3] === OTEL && (await startTelemetry("patchbay-runtime", environment));
    const onFile = (path: string) => send({ type: "file", path });
    const service = await loadService(file, { onFile, log });
    send({ type: "lock", path: lockPathOf(file) });
    send({ type: "loaded", manifest: service.manifest });
    const connectTo = await target;
    if (connectTo) await serve(service, { ...connectTo, file, log, stopTelemetry: stopTelemetry || undefined });
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

type Connect = Extract<ToRuntime, { type: "connect" }>;

async function serve(
  service: Service,
  {
    target,
    inspect,
    file,
    log,
    stopTelemetry,
  }: Connect & { file: string; log: Log; stopTelemetry?: StopTelemetry | undefined },
): Promise<void> {
  const { callInProgress, connect } = await import("@patchbay/functions");
  const flowKeys = flowKeysIn(readEnvironment());
  const open = async () => {
    const lock = await reportedLock(file, log);
    const options = { ...target, ...lock, log, flowKeys, proxy: false, reportErrors: true, reportCases: true } as const;
    const opened = connect(service, options);
    await opened.ready;
    // When this process ends, the parent starts another one with the current keys.
    opened.ended.catch(() => process.exit(1));
    return opened;
  };
  let runtime = await open();
  const stop = () => runtime.stop().then(stopTelemetry);
  drainOnStrayError(log, callInProgress, stop);
  process.on("message", (message: ToRuntime) => {
    if (message.type === "relock")
      void open().then((next) => {
        void runtime.stop();
        runtime = next;
      });
    if (message.type !== "stop") return;
    // The process that replaces this one opens the debugger's port, also while calls end here.
    inspector.close();

    void stop().finally(() => process.exit(0));
  });
  send({ type: "connected" });
  if (inspect !== undefined) await openInspector(inspect);
}

/** Opens the debugger's port once the process before this one has released it. Node prints the address, or why it could not. */
async function openInspector(port: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < PORT_WAIT_MS && (await isTaken(port)); waitedMs += PORT_POLL_MS)
    await sleep(PORT_POLL_MS);
  inspector.open(port, "127.0.0.1");
}

function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTcp(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

function send(message: FromRuntime, then: () => void = () => {}): void {
  process.send?.(message, then);
}
