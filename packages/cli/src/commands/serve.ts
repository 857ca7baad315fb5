import type { ControlPlane } from "@patchbay/control-plane";
import { isLoopback, present } from "@patchbay/kit";
import type { Command } from "commander";
import { callerOptions, callersOf } from "../caller-options.ts";
import { readEnvironment } from "../config.ts";
import { countOpenQueries, describeProvider, drain, modelsOf, planeOptions, shutdownRequested } from "../serving.ts";
import { databaseUrl, isEmbedded, requireDatabase, withoutPassword } from "../database.ts";
import { firstStartOf, firstStartOptions } from "./first-start.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import { createHumanLog, logLevel } from "../log.ts";

import * as flags from "../options.ts";
import { option } from "../options.ts";
import { printJson, print } from "../output.ts";
import { fields } from "../table.ts";
import { growWithWork } from "../startup.ts";
import { startTelemetry } from "../telemetry.ts";

const serveOptions = () => [
  flags.portOption(),
  flags.hostOption(),
  flags.databaseOption(),
  flags.dataDirOption(),
  flags.natsOption(),
  option(
    "--run-timeout <seconds>",
    "seconds that a query may take, 1 to 86400; then it ends with deadline_exceeded",
    flags.seconds(1, 86_400, 240),
  ),
  flags.arrivalOption(),
  flags.providerIdleOption(),
  flags.corsOriginOption(),
  option(
    "--public-url <url>",
    "address that clients and browsers use, with which printed links begin (default: the request's)",
    { parse: flags.parseUrl },
  ),
  option("--trust-proxy", "trust the X-Forwarded-* headers; only behind a proxy that sets them itself"),
  keptDays("--retention-days <days>", "ended queries with their events", "they are deleted", 30),
  keptDays("--audit-days <days>", "audit log entries", "they are deleted", 365),
  keptDays("--usage-days <days>", "usage and credits by turn", "only daily sums remain", 90),
  flags.tiersOption(),
  option("--limits <file>", "JSON file with limits that replace the defaults"),
  flags.pricesOption(),
  flags.providersOption(),
  option(
    "--webhook-networks <networks>",
    "private networks that webhooks may be sent to, also without TLS, comma-separated: ORG_ID=10.1.0.0/16:443,8443 for one organisation and these ports, 10.1.0.0/16 for all (default: none)",
    { parse: flags.parseList },
  ),
  ...callerOptions(),
  option("--metrics-port <port>", "port for GET /metrics only, 0 picks a free one (default: the public port)", {
    parse: flags.parsePort,
  }),
  option("--metrics-token <token>", "token that GET /metrics requires as Authorization: Bearer", {
    parse: flags.parseToken,
  }),
  flags.logFormatOption(),
  flags.otelOption(),
  option("--otel-content", "record queries, answers, arguments and results in spans, each cut at 8 KiB"),
  option(
    "--otel-clients <mode>",
    "`continue` joins client traces, which decide on sampling; `link` begins a trace for each query and links to the client's",
    { choices: ["continue", "link"], preset: "continue" },
  ),
  option("--no-console", "serve only the API, without the console"),
  flags.jsonOption(),
  ...firstStartOptions(),
];
type ServeOptions = flags.OptionsOf<typeof serveOptions>;

export function addServeCommand(program: Command): void {
  const command = program
    .command("serve")
    .description("run the control plane only; functions connect from elsewhere")
    .action(serve);
  flags.examples(
    flags.addOptions(command, serveOptions()),
    "ANTHROPIC_API_KEY=... patchbay serve --port 8080 --data-dir /var/lib/patchbay",
    "patchbay serve --database postgres://patchbay@db/patchbay --nats nats://bus:4222   # one replica of several",
    "PATCHBAY_PROVIDER=offline patchbay serve   # no language model, for trying it out",
  );
}

function keptDays<const Flags extends string>(name: Flags, what: string, then: string, preset: number) {
  const parse = (text: string) => flags.parseWithin(text, 1, 36_500, "expected days, a whole number from 1 to 36500");
  return option(name, `days to keep ${what}, 1 to 36500; then ${then}`, { parse, preset });
}

async function serve(options: ServeOptions, command: Command): Promise<void> {
  if (options.nats !== undefined && isEmbedded(options))
    throw new CommandFailure(
      "--nats connects replicas that share a Postgres database, but the database is embedded. Name a Postgres database (--database postgres://...), or omit --nats.",
    );
  const callers = callersOf(options, command);
  const environment = readEnvironment();
  const models = await modelsOf(options, environment);
  const shutdown = shutdownRequested();
  const stopTelemetry = options.otel && (await startTelemetry("patchbay", environment));
  const { createControlPlane, createLog } = await import("@patchbay/control-plane");
  const { host, publicUrl, nats, webhookNetworks, metricsPort, metricsToken } = options;
  const level = logLevel(environment);
  const log = options.logFormat === "pretty" ? createHumanLog(() => level) : createLog({ level });
  const queries = countOpenQueries();
  requireDatabase(options, { mayCreate: true });
  const plane = await createControlPlane({
    database: databaseUrl(options),
    ...(await planeOptions(options, models.settings)),
    runTimeoutMs: options.runTimeout * 1000,
    trustProxy: options.trustProxy ?? false,
    retentionDays: options.retentionDays,
    auditDays: options.auditDays,
    usageDays: options.usageDays,
    console: options.console,
    tracing: { content: options.otelContent ?? false, clients: options.otelClients },
    log,
    onQueryEvent: queries.observe,
    ...present({
      tiers: await flags.readTiers(options.tiers),
      limits: await flags.readLimits(options.limits),
      firstStart: firstStartOf(options),
      nats,
      webhookNetworks,
      callers,
      publicUrl,
      metricsPort,
      metricsToken,
    }),
  });
  if (!isLoopback(host) && !options.trustProxy)
    log.warn("listening without TLS: keys and queries travel in clear text", {
      host,
      fix: "put a proxy with TLS in front and add --trust-proxy",
    });
  growWithWork();
  models.watch(log);
  const setupUrl = options.console ? await setUpAddress(plane, options) : undefined;
  const metricsUrl = metricsPort === undefined ? undefined : plane.metricsUrl;
  if (options.json)
    printJson({ ready: true, baseUrl: plane.url, ...(metricsUrl && { metricsUrl }), ...(setupUrl && { setupUrl }) });
  else {
    print(`Patchbay serves at ${publicUrl ?? plane.url}`);
    print(
      fields([
        ...(publicUrl === undefined ? [] : [["listens at", plane.url] satisfies [string, string]]),
        ["data", withoutPassword(databaseUrl(options))],
        ["model", describeProvider(plane.provider)],
        ...(options.console ? [["console", `${publicUrl ?? plane.url}/console`] satisfies [string, string]] : []),
        ...(metricsUrl === undefined ? [] : [["metrics", metricsUrl] satisfies [string, string]]),
      ]),
    );
    if (setupUrl !== undefined)
      print(`\nThe console has no members yet. Its owner joins with this link, within 24 hours:\n${setupUrl}`);
  }
  await shutdown;
  if (queries.count() > 0) log.info("draining; a second SIGINT stops immediately", { openQueries: queries.count() });
  await drain(() => plane.close({ graceMs: 22_000 }).then(stopTelemetry));
}

/**
 * The first owner's one-time link; undefined once there is a member. An embedded database's only server replaces an
 * earlier link at each start. Replicas do not: the link that another replica printed would stop working.
 */
async function setUpAddress(plane: ControlPlane, options: ServeOptions): Promise<string | undefined> {
  const link = await plane.admin.members.setUpLink({ replace: isEmbedded(options) });
  return link && (options.publicUrl ?? plane.url) + link.path;
}
