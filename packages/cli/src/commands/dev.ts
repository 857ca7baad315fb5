import type { ControlPlane } from "@patchbay/control-plane";
import type { Command } from "commander";
import { readEnvironment, readProviderConfig } from "../config.ts";
import { consoleFiles } from "../console-files.ts";
import { databaseUrl } from "../database.ts";
import { ensureDevCredentials, type DevCredentials } from "../dev/credentials.ts";
import type { Link } from "../dev/messages.ts";
import { tellQueryLine } from "../dev/query-log.ts";
import { readyBlock } from "../dev/ready-block.ts";
import { launchRuntime } from "../runtime-child.ts";
import { createSupervisor } from "../dev/supervisor.ts";
import { clock, createHumanLog, logLevel } from "../log.ts";
import { arrivalOption, dataDirOption, examples, hostOption, jsonOption, option, portOption } from "../options.ts";
import { paintLog, printJson, say, tell } from "../output.ts";
import { reachable } from "../reachable.ts";
import { findServiceFile } from "../service-file.ts";
import { drain, shutdownRequested } from "../shutdown.ts";
import { growWithWork } from "../young-generation.ts";

interface DevOptions {
  port: number;
  host: string;
  dataDir: string;
  arrivalSeconds: number;
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
    .addOption(arrivalOption())
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
  const plane = await startPlane(options);
  opened.defer(() => {
    functions.expectLoss();
    return plane.close({ graceMs: 18_000 });
  });
  const credentials = await ensureDevCredentials(options.dataDir, plane);
  link.resolve({ url: reachable(plane, options.host), agentId: credentials.agentId, key: credentials.runtimeKey });
  const consoleUrl = reachable(plane, options.host) + (await plane.admin.members.signInLink(credentials.orgId)).path;
  const manifest = await loading;
  if (options.watch) {
    const { watchSources } = await import("../dev/watch.ts");
    const onChange = () => void functions.reload();
    opened.defer(await watchSources(file, { dataDir: options.dataDir, onChange }));
  }

  growWithWork();
  if (options.json) printJson(readyLine(plane, credentials, consoleUrl));
  else
    say(
      readyBlock({
        baseUrl: plane.url,
        consoleUrl,
        provider: plane.provider,
        credentials,
        manifest,
        file,
        watching: options.watch,
      }),
    );
  await shutdown;
  await drain(() => opened.disposeAsync());
}

async function startPlane({ host, port, dataDir, arrivalSeconds, record, replay }: DevOptions): Promise<ControlPlane> {
  const environment = readEnvironment();
  const providers = readProviderConfig(environment, { offlineFallback: true });
  const { createControlPlane, recordTo, replayFrom } = await import("@patchbay/control-plane");
  return createControlPlane({
    database: databaseUrl({ dataDir }),
    host,
    port,
    providers,
    arrivalMs: arrivalSeconds * 1000,
    ...(record !== undefined && { wrapModel: recordTo(record) }),
    ...(replay !== undefined && { model: replayFrom(replay) }),
    local: true,
    ...consoleFiles(),
    // What it has to say at `info` (functions connected, and so on) is told by the live log already.
    log: createHumanLog(() => logLevel(environment, "warn")),
    onQueryEvent: tellQueryLine,
  });
}

function superviseFunctions(file: string, link: Promise<Link>) {
  let served = false;
  return createSupervisor({
    launch: () => launchRuntime(file),
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

const countOf = ({ length }: readonly unknown[]) => (length === 1 ? "1 function is" : `${length} functions are`);

function readyLine({ url, provider }: ControlPlane, credentials: DevCredentials, consoleUrl: string): object {
  const { agentId, apiKey, runtimeKey, accessToken } = credentials;
  return { ready: true, baseUrl: url, localUrl: url, consoleUrl, agentId, apiKey, runtimeKey, accessToken, provider };
}
