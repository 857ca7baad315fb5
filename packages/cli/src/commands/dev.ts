import type { ControlPlane, Observer } from "@patchbay/control-plane";
import type { Command } from "commander";
import { readEnvironment, readProviderConfig } from "../config.ts";
import { databaseUrl, requireDatabase } from "../database.ts";
import { ensureDevCredentials, makeDataFolder, type DevCredentials } from "../dev/credentials.ts";
import { readyBlock } from "../dev/ready-block.ts";
import { Supervisor, watchSources } from "../dev/supervisor.ts";
import { clock, createHumanLog, logLevel, logQueryLine } from "../log.ts";
import * as flags from "../options.ts";
import { paintStatus, print, printJson, printStatus } from "../output.ts";
import { launchRuntime, type ConnectionTarget, type RuntimeChild } from "../runtime-child.ts";
import { findServiceFile } from "../service-file.ts";
import { consoleFiles, countOpenQueries, drain, shutdownRequested } from "../serving.ts";
import { growWithWork } from "../startup.ts";

interface DevOptions {
  port: number;
  host: string;
  dataDir: string;
  corsOrigin?: string[];
  arrivalSeconds: number;
  prices?: string;
  watch: boolean;
  record?: string;
  replay?: string;
  json?: true;
}

export function addDevCommand(program: Command): void {
  const command = program
    .command("dev")
    .description("run the service and the functions of FILE for development; reloads them when they change")
    .argument("[file]", "module whose default export is what defineService() returned (default: service.ts)")
    .addOption(flags.portOption())
    .addOption(flags.hostOption())
    .addOption(flags.dataDirOption())
    .addOption(flags.corsOriginOption())
    .addOption(flags.arrivalOption())
    .addOption(flags.pricesOption())
    .addOption(flags.option("--no-watch", "do not reload the functions when files change"))
    .addOption(
      flags.option("--record <file>", "record model answers to a .json file or a folder, for --replay and tests"),
    )
    .addOption(flags.option("--replay <file>", "replay recorded answers, without a model").conflicts("record"))
    .addOption(flags.jsonOption())
    .action(dev);
  flags.examples(command, "patchbay dev service.ts", "ANTHROPIC_API_KEY=... patchbay dev service.ts --port 0 --json");
}

async function dev(named: string | undefined, options: DevOptions): Promise<void> {
  const file = findServiceFile(named);
  const shutdown = shutdownRequested();
  const target = Promise.withResolvers<ConnectionTarget>();
  const watching = options.watch
    ? watchSources(file, { dataDir: options.dataDir, onChange: () => void functions.reload() })
    : undefined;
  const watchFile = (path: string) => void watching?.then((files) => files.add(path));
  const functions = superviseFunctions(file, target.promise, watchFile);
  // The functions load while the control plane starts; a failure is handled where `loading` is awaited.
  const loading = functions.start();
  loading.catch(() => {});

  await using opened = new AsyncDisposableStack();
  opened.defer(() => functions.stop(4_000));
  opened.defer(async () => (await watching)?.close());
  const queries = countOpenQueries();
  const plane = await startPlane(options, queries.observe);
  opened.defer(() => {
    functions.expectClose();
    return plane.close({ graceMs: 18_000 });
  });
  const credentials = await ensureDevCredentials(options.dataDir, plane);
  const address = plane.url;
  target.resolve({ url: address, agentId: credentials.agentId, key: credentials.runtimeKey });
  const consoleUrl = address + (await plane.admin.members.signInLink(credentials.orgId)).path;
  // Without the race a file that never finishes loading would keep the service from stopping.
  const manifest = await Promise.race([loading, shutdown]);
  if (manifest) {
    await watching;
    growWithWork();
    const facts = { baseUrl: plane.url, consoleUrl, provider: plane.provider, credentials, manifest, file };
    if (options.json) printJson(readyLine(plane, credentials, consoleUrl));
    else print(readyBlock({ ...facts, watching: options.watch }));
    await shutdown;
  }
  const left = queries.count();
  if (left > 0)
    printStatus(
      `Finishing ${left === 1 ? "1 query" : `${left} queries`}, at most 18 s. Press Ctrl-C again to stop immediately.`,
    );
  await drain(() => opened.disposeAsync());
}

async function startPlane(options: DevOptions, observe: Observer): Promise<ControlPlane> {
  const { host, port, dataDir, arrivalSeconds, corsOrigin: corsOrigins, prices, record, replay } = options;
  requireDatabase({ dataDir }, { mayCreate: true });
  makeDataFolder(dataDir);
  const environment = readEnvironment();
  const providers = readProviderConfig(environment, { offlineFallback: true });
  const { createControlPlane, recordTo, replayFrom } = await import("@patchbay/control-plane");
  return createControlPlane({
    database: databaseUrl({ dataDir }),
    host,
    port,
    providers: { ...providers, ...(prices !== undefined && { prices: await flags.readPrices(prices) }) },
    arrivalMs: arrivalSeconds * 1000,
    ...(record !== undefined && { wrapModel: recordTo(record) }),
    ...(replay !== undefined && { model: replayFrom(replay) }),
    local: true,
    ...consoleFiles(),
    // The live log already shows its `info` events, such as connected functions.
    log: createHumanLog(() => logLevel(environment, "warn")),
    onQueryEvent(line) {
      observe(line);
      logQueryLine(line);
    },
    ...(corsOrigins && { corsOrigins }),
  });
}

function superviseFunctions(file: string, target: Promise<ConnectionTarget>, onFile: (path: string) => void) {
  let served = false;
  return new Supervisor({
    launch: () => warnOfSlowLoad(launchRuntime(file, onFile), file),
    target,
    onServing({ functions }) {
      if (served) printStatus(`${clock()}  ${paintStatus("green", "reload")}  ${countOf(functions)}`);
      served = true;
    },
    onFailure(reason, serving) {
      const then = serving ? "The previous functions keep serving." : "No functions are served.";
      printStatus(`${clock()}  ${paintStatus("red", "reload failed")}  ${reason}\n${then}`);
    },
    onCrash: (how) =>
      printStatus(`${clock()}  ${paintStatus("red", "crash")}  The process of the functions ${how}; restarting it.`),
  });
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
