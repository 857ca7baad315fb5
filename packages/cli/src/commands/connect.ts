import { LIMITS } from "@patchbay/protocol";
import { InvalidArgumentError, type Command } from "commander";
import { readEnvironment } from "../config.ts";
import { CommandFailure, reasonOf } from "../failure.ts";
import { logLevel } from "../log.ts";
import { agentOption, examples, jsonOption, option, parseCount, parseUrl } from "../options.ts";
import { keepStdoutForResults, printJson } from "../output.ts";
import { findServiceFile, loadService } from "../service-file.ts";
import type { QueryTarget } from "./query.ts";
import { drain, shutdownRequested } from "../serving.ts";
import { growWithWork } from "../startup.ts";

interface ConnectOptions extends QueryTarget {
  deployment?: string;
  concurrency?: number;
  json?: true;
}

export function addConnectCommand(program: Command): void {
  const command = program
    .command("connect")
    .description("run the functions of FILE and connect them to a control plane; opens no port")
    .argument("<file>", "module whose default export is what defineService() returned")
    .addOption(option("--url <url>", "address of the control plane").argParser(parseUrl).makeOptionMandatory())
    .addOption(agentOption("the agent to connect the functions to").makeOptionMandatory())
    .addOption(option("--key <key>", "runtime key of the agent (better given as PATCHBAY_KEY)").makeOptionMandatory())
    .addOption(
      option(
        "--deployment <name>",
        "release id or git commit that the functions belong to: the newest deployment decides which functions serve",
      ).argParser(parseDeployment),
    )
    .addOption(option("--concurrency <n>", "maximum calls at the same time").argParser(parseCount))
    .addOption(jsonOption())
    .action(connectFile);
  examples(
    command,
    "PATCHBAY_KEY=patchbay_rt_... patchbay connect service.ts --url https://queries.example.com --agent agt_...",
    'PATCHBAY_KEY=patchbay_rt_... patchbay connect service.ts --url https://queries.example.com --agent agt_... --deployment "$GIT_COMMIT"',
  );
}

function parseDeployment(text: string): string {
  if (text.length <= LIMITS.deploymentUnits) return text;
  throw new InvalidArgumentError(`expected 1 to ${LIMITS.deploymentUnits} characters, got ${text.length}`);
}

async function connectFile(file: string, options: ConnectOptions): Promise<void> {
  const path = findServiceFile(file);
  if (options.json) keepStdoutForResults();
  const service = await loadService(path);
  const { connect, createLog } = await import("@patchbay/functions");
  const shutdown = shutdownRequested();
  growWithWork();
  const runtime = connect(service, {
    url: options.url,
    agentId: options.agent,
    key: options.key,
    log: createLog({ level: logLevel(readEnvironment()) }),
    ...(options.deployment !== undefined && { deployment: options.deployment }),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
  });
  const connected = runtime.ready.then(() => {
    if (options.json) printJson({ ready: true, agentId: options.agent, instanceId: runtime.instanceId });
  });
  try {
    await Promise.race([shutdown, connected.then(() => shutdown)]);
  } catch (error) {
    throw new CommandFailure(reasonOf(error));
  }
  await drain(() => runtime.stop({ drainMs: 22_000 }));
}
