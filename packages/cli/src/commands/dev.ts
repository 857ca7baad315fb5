import type { ControlPlane, Observer } from "@patchbay/control-plane";
import type { Command } from "commander";
import { readEnvironment, readProviderConfig } from "../config.ts";
import { consoleFiles } from "../console-files.ts";
import { databaseUrl, requireDatabase } from "../database.ts";
import { ensureDevCredentials, type DevCredentials } from "../dev/credentials.ts";
import { makeDataFolder } from "../dev/data-folder.ts";
import type { Link } from "../dev/messages.ts";
import { tellQueryLine } from "../dev/query-log.ts";
import { readyBlock } from "../dev/ready-block.ts";
import { countOpenQueries } from "../open-queries.ts";
import { launchRuntime, type RuntimeChild } from "../runtime-child.ts";
import { createSupervisor } from "../dev/supervisor.ts";
import { clock, createHumanLog, logLevel } from "../log.ts";
import {
  arrivalOption,
  corsOriginOption,
  dataDirOption,
  examples,
  hostOption,
  jsonOption,
  option,
  portOption,
  pricesOption,
} from "../options.ts";
import { readPrices } from "../option-file.ts";
import { paintLog, printJson, say, tell } from "../output.ts";
import { reachable } from "../reachable.ts";
import { findServiceFile } from "../service-file.ts";
import { drain, shutdownRequested } from "../shutdown.ts";
import { growWithWork } from "../young-generation.ts";

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
    .description("run everything for development: the service and the functions of FILE, reloaded when they change")
    .argument("[file]", "module whose default export is what defineService() returned (default: service.ts)")
    .addOption(portOption())
    .addOption(hostOption())
    .addOption(dataDirOption())
    .addOption(corsOriginOption())
    .addOption(arrivalOption())
    .addOption(pricesOption())
    .addOption(option("--no-watch", "do not reload the functions when files change"))
    .addOption(
      option("--record <file>", "keep what the model answers in a .json file or a folder, for --replay and for tests"),
    )
    .addOption(option("--replay <file>", "answer from what --record kept, without any model").conflicts("record"))
    .addOption(jsonOption())
    .action(dev);
  examples(command, "patchbay dev service.ts", "ANTHROPIC_API_KEY=... patchbay dev service.ts --port 0 --json");
}

async function dev(named: string | undefined, options: DevOptions): Promise<void> {
  const file = findServiceFile(named);
  const shutdown = shutdownRequested();
  const link = Promise.withResolvers<Link>();
  const functions = superviseFunctions(file, link.promise);
  // The functions load while the control plane starts; a failure is met where it is waited for.
  const loading = functions.start();
  loading.catch(() => {});

  await using opened = new AsyncDisposableStack();
  opened.defer(() => functions.stop(4_000));
  const queries = countOpenQueries();
  const plane = await startPlane(options, queries.observe);
  opened.defer(() => {
    functions.expectLoss();
    return plane.close({ graceMs: 18_000 });
  });
  const credentials = await ensureDevCredentials(options.dataDir, plane);
  link.resolve({ url: reachable(plane, options.host), agentId: credentials.agentId, key: credentials.runtimeKey });
  const consoleUrl = reachable(plane, options.host) + (await plane.admin.members.signInLink(credentials.orgId)).path;
  // A file may take for ever to load, and must not keep the service from being stopped.
  const manifest = await Promise.race([loading, shutdown]);
  if (manifest) {
    if (options.watch) {
      const { watchSources } = await import("../dev/watch.ts");
      const onChange = () => void functions.reload();
      opened.defer(await watchSources(file, { dataDir: options.dataDir, onChange }));
    }
    growWithWork();
    const facts = { baseUrl: plane.url, consoleUrl, provider: plane.provider, credentials, manifest, file };
    if (options.json) printJson(readyLine(plane, credentials, consoleUrl));
    else say(readyBlock({ ...facts, watching: options.watch }));
    await shutdown;
  }
  const left = queries.count();
  if (left > 0)
    tell(`Finishing ${left === 1 ? "1 query" : `${left} queries`}, at most 18 s. Press Ctrl-C again to stop at once.`);
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
    providers: { ...providers, ...(prices !== undefined && { prices: await readPrices(prices) }) },
    arrivalMs: arrivalSeconds * 1000,
    ...(record !== undefined && { wrapModel: recordTo(record) }),
    ...(replay !== undefined && { model: replayFrom(replay) }),
    local: true,
    ...consoleFiles(),
    // What it has to say at `info` (functions connected, and so on) is told by the live log already.
    log: createHumanLog(() => logLevel(environment, "warn")),
    onQueryEvent(line) {
      observe(line);
      tellQueryLine(line);
    },
    ...(corsOrigins && { corsOrigins }),
  });
}

function superviseFunctions(file: string, link: Promise<Link>) {
  let served = false;
  return createSupervisor({
    launch: () => tellOfSlowLoad(launchRuntime(file), file),
    link,
    onServing({ functions }) {
      if (served) tell(`${clock()}  ${paintLog("green", "reload")}  ${countOf(functions)} served`);
      served = true;
    },
    onFailure(reason, serving) {
      const then = serving ? "The functions from before go on serving." : "No functions are served.";
      tell(`${clock()}  ${paintLog("red", "reload failed")}  ${reason}\n${then}`);
    },
    onCrash: (how) =>
      tell(`${clock()}  ${paintLog("red", "crash")}  The process of the functions ${how}; starting it again.`),
  });
}

const SLOW_LOAD_MS = 5_000;

/** Says so when a file takes long to load; nothing else would. */
function tellOfSlowLoad(child: RuntimeChild, file: string): RuntimeChild {
  const slow = setTimeout(
    () =>
      tell(
        `${clock()}  ${paintLog("yellow", "loading")}  still loading ${file} after ${SLOW_LOAD_MS / 1000} s; check for a top-level await that never settles. Ctrl-C stops.`,
      ),
    SLOW_LOAD_MS,
  );
  const done = () => clearTimeout(slow);
  child.loaded.then(done, done);
  return child;
}

const countOf = ({ length }: readonly unknown[]) => (length === 1 ? "1 function is" : `${length} functions are`);

function readyLine({ url, provider }: ControlPlane, credentials: DevCredentials, consoleUrl: string): object {
  const { agentId, apiKey, runtimeKey, accessToken } = credentials;
  return { ready: true, baseUrl: url, localUrl: url, consoleUrl, agentId, apiKey, runtimeKey, accessToken, provider };
}
