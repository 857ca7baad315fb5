import type { Connection, ConnectOptions as ConnectOptionsOfRuntime } from "@patchbay/functions";
import { LIMITS } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { InvalidArgumentError, type Command } from "commander";
import { readEnvironment } from "../config.ts";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import { createHumanLog, logLevel } from "../log.ts";
import { serveHealth } from "../health.ts";
import * as flags from "../options.ts";
import { option } from "../options.ts";
import { keepStdoutForResults, printJson } from "../output.ts";
import { flowKeysIn } from "../secret-files.ts";
import { findServiceFile, loadService } from "../service-file.ts";
import { drain, shutdownRequested } from "../serving.ts";
import { startTelemetry } from "../telemetry.ts";
import { drainOnStrayError } from "../stray-errors.ts";

const connectOptions = () => [
  option("--url <url>", "control plane address", { parse: flags.parseUrl, required: true }),
  flags.requiredAgentOption("the agent to connect the functions to"),
  flags.keyOption("PATCHBAY_RUNTIME_KEY", "the agent's runtime key (better given as PATCHBAY_RUNTIME_KEY)"),
  option(
    "--deployment <name>",
    "release id or git commit that the functions belong to: the newest deployment decides which functions serve",
    { parse: parseDeployment },
  ),
  option("--concurrency <n>", "calls that run at the same time, 1 to 10000; more wait (default: 16)", {
    parse: flags.parseCount,
  }),
  option(
    "--proxy <url>",
    "HTTP or HTTPS proxy to connect through, `none` for none (default: HTTPS_PROXY, unless NO_PROXY excepts the address)",
  ),
  option(
    "--report-errors",
    "show name, message and stack of function errors to developers and owners in the console (default: only in the log)",
  ),
  option(
    "--report-cases",
    "offer the case arguments to members who make test calls in the console (default: only case names)",
  ),
  option("--shadow", "serve no calls: be asked what the checks decide on calls that have ended (default: serve)"),
  option("--health-port <port>", "port for GET /healthz and GET /readyz, 0 picks a free one (default: no port)", {
    parse: flags.parsePort,
  }),
  flags.otelOption(),
  option("--health-host <host>", "address for the health port, 0.0.0.0 for Kubernetes", flags.HOST),
  flags.logFormatOption(),
  flags.jsonOption(),
];
type ConnectOptions = flags.OptionsOf<typeof connectOptions>;

export function addConnectCommand(program: Command): void {
  const command = program
    .command("connect")
    .description("run the functions in FILE and connect them to a control plane; opens no port")
    .argument("<file>", "module whose default export is what defineService() returned")
    .addHelpText(
      "after",
      "\nAn access.lock.json next to FILE is sent as well: the console's Access page shows what changed since.\nPATCHBAY_FLOW_KEY_FILE names the file with the flow keys of a service with data-flow rules, the newest in the first line.",
    )
    .action((file: string, options: ConnectOptions) => {
      const key = flags.keyOr(options.key, "PATCHBAY_RUNTIME_KEY");
      if (key === undefined) return command.error("error: required option '--key <key>' not specified");
      return connectFile(file, { ...options, key });
    });
  flags.examples(
    flags.addOptions(command, connectOptions()),
    "PATCHBAY_RUNTIME_KEY=patchbay_rt_... patchbay connect service.ts --url https://queries.example.com --agent agt_...",
    'PATCHBAY_RUNTIME_KEY=patchbay_rt_... patchbay connect service.ts --url https://queries.example.com --agent agt_... --deployment "$GIT_COMMIT"',
  );
}

function parseDeployment(text: string): string {
  if (text.length <= LIMITS.deploymentUnits) return text;
  throw new InvalidArgumentError(`expected 1 to ${LIMITS.deploymentUnits} characters, got ${text.length}`);
}

async function connectFile(file: string, options: ConnectOptions & { key: string }): Promise<void> {
  const path = findServiceFile(file);
  if (options.json) keepStdoutForResults();
  const { healthPort, healthHost, deployment, concurrency, reportErrors, reportCases, shadow, proxy } = options;
  let runtime: Connection | undefined;
  const state = () => runtime?.state ?? "loading";
  const healthUrl =
    healthPort === undefined ? undefined : await serveHealth({ host: healthHost, port: healthPort, state });
  const stopTelemetry = options.otel && (await startTelemetry("patchbay-runtime", readEnvironment()));
  const { callInProgress, connect, createLog } = await import("@patchbay/functions");
  const level = logLevel(readEnvironment());
  const log = options.logFormat === "pretty" ? createHumanLog(() => level) : createLog({ level });
  const service = await loadService(path, { log });
  const { reportedLock } = await import("../lock-file.ts");
  const lock = await reportedLock(path, log);
  const shutdown = shutdownRequested();
  const flowKeys = flowKeysIn(readEnvironment());
  const connectAs = (given: ConnectOptionsOfRuntime) => {
    try {
      return connect(service, given);
    } catch (error) {
      throw new CommandFailure(reasonOf(error));
    }
  };
  runtime = connectAs({
    ...lock,
    flowKeys,
    url: options.url,
    agentId: options.agent,
    key: options.key,
    log,
    ...present({ deployment, concurrency, reportErrors, reportCases, shadow }),
    ...(proxy !== undefined && { proxy: proxy === "none" ? false : proxy }),
  });
  const { instanceId, ready, ended } = runtime;
  const stop = () => runtime.stop({ drainMs: 22_000 }).then(stopTelemetry);
  drainOnStrayError(log, callInProgress, stop);
  if (options.json)
    void ready.then(
      () => printJson({ ready: true, agentId: options.agent, instanceId, ...(healthUrl && { healthUrl }) }),
      () => {}, // `ended` rejects with the same reason.
    );
  try {
    await Promise.race([shutdown, ended]);
  } catch (error) {
    throw new CommandFailure(reasonOf(error));
  }
  await drain(stop);
}
