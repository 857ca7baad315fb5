import type { ControlPlane, Observer } from "@patchbay/control-plane";
import type { Manifest } from "@patchbay/protocol";
import type { Command } from "commander";
import { readEnvironment } from "../config.ts";
import { databaseUrl, requireDatabase } from "../database.ts";
import { ensureDevCredentials, makeDataFolder, type DevCredentials } from "../dev/credentials.ts";
import { TerminalKeys } from "../dev/keys.ts";
import { readyBlock, serviceDetails } from "../dev/ready-block.ts";
import { Supervisor, watchSources } from "../dev/supervisor.ts";
import { clock, createHumanLog, logLevel, logQueryLine } from "../log.ts";
import * as flags from "../options.ts";
import { option, plainOption } from "../options.ts";
import { paint, paintStatus, print, printJson, printStatus } from "../output.ts";
import { launchRuntime, type ConnectionTarget, type RuntimeChild, type RuntimeOptions } from "../runtime-child.ts";
import { findServiceFile } from "../service-file.ts";
import { countOpenQueries, drain, modelsOf, parentGone, planeOptions, shutdownRequested } from "../serving.ts";
import { growWithWork } from "../startup.ts";
import { startTelemetry } from "../telemetry.ts";
import { type DevService, devKeys } from "./dev-keys.ts";

const devOptions = () => [
  flags.portOption(),
  flags.hostOption(),
  flags.dataDirOption(),
  flags.corsOriginOption(),
  flags.arrivalOption(),
  flags.providerIdleOption(),
  flags.pricesOption(),
  flags.providersOption(),
  plainOption("--inspect [port]", "open a port on 127.0.0.1 for a debugger of the functions (default: 9229)", {
    parse: flags.parsePort,
    bare: "9229",
  }),
  option("--no-watch", "do not reload the functions when files change"),
  option("--record <file>", "record model answers to a .json file or a folder, for --replay and tests"),
  option("--replay <file>", "replay recorded answers, without a model").conflicts("record"),
  flags.otelOption(),
  flags.jsonOption(),
];
type DevOptions = flags.OptionsOf<typeof devOptions>;

export function addDevCommand(program: Command): void {
  const command = program
    .command("dev")
    .description("run the service and the functions in FILE for development; reloads them on changes")
    .argument("[file]", "module whose default export is what defineService() returned (default: service.ts)")
    .action(dev);
  flags.examples(
    flags.addOptions(command, devOptions()),
    "patchbay dev service.ts",
    "ANTHROPIC_API_KEY=... patchbay dev service.ts --port 0 --json",
  );
}

async function dev(named: string | undefined, options: DevOptions): Promise<void> {
  const file = findServiceFile(named);
  const shutdown = Promise.race([shutdownRequested(), parentGone()]);
  const target = Promise.withResolvers<ConnectionTarget>();
  const watching = options.watch
    ? watchSources(file, {
        dataDir: options.dataDir,
        onChange: () => void supervisor.reload(),
        onLock: () => supervisor.relock(),
      })
    : undefined;
  const { supervisor, serving } = superviseFunctions(file, target.promise, {
    onFile: (path) => void watching?.then((files) => files.add(path)),
    onLock: (path) => void watching?.then((files) => files.addLock(path)),
    otel: options.otel === true,
    inspect: options.inspect,
  });
  // The functions load while the control plane starts; a failure is handled where `connected` is awaited.
  const connected = supervisor.start();
  connected.catch(() => {});

  await using opened = new AsyncDisposableStack();
  // Before anything else can fail: otherwise the functions process would continue, and keep this one from ending.
  opened.defer(() => supervisor.stop(4_000));
  opened.defer(async () => (await watching)?.close());
  if (options.otel) opened.defer(await startTelemetry("patchbay", readEnvironment()));
  const queries = countOpenQueries();
  const plane = await startPlane(options, queries.observe);
  opened.defer(() => {
    supervisor.expectClose();
    return plane.close({ graceMs: 18_000 });
  });
  // Without the races a file that never finishes loading would keep the service from stopping.
  const loaded = await Promise.race([supervisor.loaded, shutdown]);
  if (loaded) {
    const credentials = await ensureDevCredentials(options.dataDir, plane, loaded);
    const { url } = plane;
    target.resolve({ url, agentId: credentials.agentId, key: credentials.runtimeKey });
    const manifest = await Promise.race([connected, shutdown]);
    if (manifest) {
      await watching;
      growWithWork();
      const restart = () => supervisor.reload();
      const service = { plane, credentials, url, manifest: () => serving() ?? manifest, restart };
      using _keys = await announce(service, file, options);
      await shutdown;
    }
  }
  const left = queries.count();
  if (left > 0)
    printStatus(
      `Finishing ${left === 1 ? "1 query" : `${left} queries`}, at most 18 s. Press Ctrl-C again to stop immediately.`,
    );
  await drain(() => opened.disposeAsync());
}

type Announced = Omit<DevService, "signInLink" | "help"> & { plane: ControlPlane };

/** Prints how to use the service. In a terminal, credentials and further steps are behind keys until the result is disposed. */
async function announce(service: Announced, file: string, { json, watch }: DevOptions): Promise<Disposable> {
  const { plane, credentials, url, manifest } = service;
  const signInLink = async () => url + (await plane.admin.members.signInLink(credentials.orgId)).path;
  const consoleUrl = await signInLink();
  if (json) {
    printJson(readyLine(plane, credentials, consoleUrl));
    return new DisposableStack();
  }
  const help = () => print(`\n${serviceDetails(plane.url, credentials, manifest())}\n`);
  const commands = devKeys({ ...service, signInLink, help }, async (question, options) => keys?.ask(question, options));
  const keys = TerminalKeys.available ? new TerminalKeys(commands) : undefined;
  print(readyBlock({ baseUrl: plane.url, consoleUrl, provider: plane.provider, manifest: manifest() }));
  if (!keys) help();
  const watching = watch ? `Watching ${file}: saved changes take effect immediately. ` : "";
  print(keys ? `\n${paint("bold", TerminalKeys.describe(commands))}` : paint("dim", `${watching}Ctrl-C stops.`));
  return keys ?? new DisposableStack();
}

async function startPlane(options: DevOptions, observe: Observer): Promise<ControlPlane> {
  const { dataDir, record, replay, inspect } = options;
  requireDatabase({ dataDir }, { mayCreate: true });
  makeDataFolder(dataDir);
  const environment = readEnvironment();
  const models = await modelsOf(options, environment, { offlineFallback: true });
  // The live log already shows its `info` events, such as connected functions.
  const log = createHumanLog(() => logLevel(environment, "warn"));
  models.watch(log);
  const { createControlPlane, recordTo, replayFrom } = await import("@patchbay/control-plane");
  return createControlPlane({
    database: databaseUrl({ dataDir }),
    ...(await planeOptions(options, models.settings)),
    ...(record !== undefined && { wrapModel: recordTo(record) }),
    ...(replay !== undefined && { model: replayFrom(replay) }),
    local: true,
    // A process at a breakpoint answers no ping. One that has ended closes its connection.
    ...(inspect !== undefined && { heartbeatMs: 3_600_000, reconnectMs: 12_500 }),
    // A development receiver is a process on the same machine.
    webhookNetworks: ["127.0.0.0/8", "::1"],
    log,
    onQueryEvent(line) {
      observe(line);
      logQueryLine(line);
    },
  });
}

function superviseFunctions(file: string, target: Promise<ConnectionTarget>, child: RuntimeOptions) {
  let serving: Manifest | undefined;
  const supervisor = new Supervisor({
    launch: () => warnOfSlowLoad(launchRuntime(file, child), file),
    target,
    onServing(manifest) {
      if (serving) printStatus(`${clock()}  ${paintStatus("green", "reload")}  ${countOf(manifest.functions)}`);
      serving = manifest;
    },
    onFailure(reason, serving) {
      const then = serving ? "The previous functions keep serving." : "No functions are served.";
      printStatus(`${clock()}  ${paintStatus("red", "reload failed")}  ${reason}\n${then}`);
    },
    onCrash: (how) =>
      printStatus(`${clock()}  ${paintStatus("red", "crash")}  The process of the functions ${how}; restarting it.`),
  });
  return { supervisor, serving: (): Manifest | undefined => serving };
}

const SLOW_LOAD_MS = 5_000;

/** Warns when a file takes long to load: the command prints nothing before it is loaded. */
function warnOfSlowLoad(child: RuntimeChild, file: string): RuntimeChild {
  const slow = setTimeout(
    () =>
      printStatus(
        `${clock()}  ${paintStatus("yellow", "loading")}  ${file} is still loading after ${SLOW_LOAD_MS / 1000} s; check for a top-level await that never settles. Ctrl-C stops.`,
      ),
    SLOW_LOAD_MS,
  );
  const done = () => clearTimeout(slow);
  child.loaded.then(done, done);
  return child;
}

const countOf = ({ length }: readonly unknown[]) =>
  length === 1 ? "serving 1 function" : `serving ${length} functions`;

function readyLine({ url, provider }: ControlPlane, credentials: DevCredentials, consoleUrl: string): object {
  const { agentId, apiKey, runtimeKey, accessToken } = credentials;
  return { ready: true, baseUrl: url, localUrl: url, consoleUrl, agentId, apiKey, runtimeKey, accessToken, provider };
}
