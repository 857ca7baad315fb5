import type { ControlPlane } from "@patchbay/control-plane";
import { isLoopback } from "@patchbay/protocol";
import type { Command } from "commander";
import { readEnvironment, readProviderConfig } from "../config.ts";
import { consoleFiles } from "../console-files.ts";
import { databaseUrl, isEmbedded, requireDatabase, withoutPassword } from "../database.ts";
import { CommandFailure } from "../failure.ts";
import { logLevel } from "../log.ts";
import { countOpenQueries } from "../open-queries.ts";
import * as flags from "../options.ts";
import { fields, printJson, say } from "../output.ts";
import { describeProvider } from "../provider-words.ts";
import { drain, shutdownRequested } from "../shutdown.ts";
import { reachable } from "../reachable.ts";
import { readLimits, readPrices, readTiers } from "../option-file.ts";
import { growWithWork } from "../young-generation.ts";

interface ServeOptions {
  port: number;
  host: string;
  database?: string;
  nats?: string;
  dataDir: string;
  runTimeout: number;
  arrivalSeconds: number;
  corsOrigin?: string[];
  publicUrl?: string;
  trustProxy?: true;
  retentionDays: number;
  auditDays: number;
  usageDays: number;
  tiers?: string;
  limits?: string;
  prices?: string;
  metricsPort?: number;
  metricsToken?: string;
  console: boolean;
  json?: true;
}

export function addServeCommand(program: Command): void {
  const seconds = (text: string) =>
    flags.parseWithin(text, 1, 86_400, "expected seconds, a whole number from 1 to 86400");
  const days = (text: string) => flags.parseWithin(text, 1, 36_500, "expected days, a whole number from 1 to 36500");
  const command = program
    .command("serve")
    .description("run the control plane alone; functions connect to it from elsewhere")
    .addOption(flags.portOption())
    .addOption(flags.hostOption())
    .addOption(flags.databaseOption())
    .addOption(flags.dataDirOption())
    .addOption(flags.natsOption())
    .addOption(flags.option("--run-timeout <seconds>", "time a query has").argParser(seconds).default(240))
    .addOption(flags.arrivalOption())
    .addOption(flags.corsOriginOption())
    .addOption(flags.option("--public-url <url>", "address that clients use").argParser(flags.parseUrl))
    .addOption(flags.option("--trust-proxy", "believe X-Forwarded-* headers of the proxy in front"))
    .addOption(flags.option("--retention-days <days>", "days that ended queries are kept").argParser(days).default(30))
    .addOption(flags.option("--audit-days <days>", "days that the audit log is kept").argParser(days).default(365))
    .addOption(
      flags
        .option("--usage-days <days>", "days that usage and credits are kept turn by turn, then as sums of a day")
        .argParser(days)
        .default(90),
    )
    .addOption(flags.tiersOption())
    .addOption(flags.limitsOption())
    .addOption(flags.pricesOption())
    .addOption(
      flags
        .option("--metrics-port <port>", "port for GET /metrics only, 0 picks a free one (default: the public port)")
        .argParser(flags.parsePort),
    )
    .addOption(
      flags
        .option("--metrics-token <token>", "token that GET /metrics asks for, as Authorization: Bearer")
        .argParser(flags.parseToken),
    )
    .addOption(flags.option("--no-console", "serve the API alone, without the console"))
    .addOption(flags.jsonOption())
    .action(serve);
  flags.examples(
    command,
    "ANTHROPIC_API_KEY=... patchbay serve --port 8080 --data-dir /var/lib/patchbay",
    "patchbay serve --database postgres://patchbay@db/patchbay --nats nats://bus:4222   # one replica of several",
    "PATCHBAY_PROVIDER=offline patchbay serve   # no language model, for trying it out",
  );
}

async function serve(options: ServeOptions): Promise<void> {
  if (options.nats !== undefined && isEmbedded(options))
    throw new CommandFailure(
      "--nats connects replicas that share a database, and an embedded one is served by one process. Name a Postgres database (--database postgres://...), or leave --nats out.",
    );
  const environment = readEnvironment();
  const providers = readProviderConfig(environment);
  const shutdown = shutdownRequested();
  const { createControlPlane, createLog } = await import("@patchbay/control-plane");
  const { host, port, corsOrigin: corsOrigins, publicUrl, tiers, limits, prices, metricsPort, metricsToken } = options;
  const log = createLog(logLevel(environment));
  const queries = countOpenQueries();
  requireDatabase(options, { mayCreate: true });
  const plane = await createControlPlane({
    database: databaseUrl(options),
    host,
    port,
    providers: { ...providers, ...(prices !== undefined && { prices: await readPrices(prices) }) },
    runTimeoutMs: options.runTimeout * 1000,
    arrivalMs: options.arrivalSeconds * 1000,
    trustProxy: options.trustProxy ?? false,
    retentionDays: options.retentionDays,
    auditDays: options.auditDays,
    usageDays: options.usageDays,
    console: options.console,
    ...consoleFiles(),
    log,
    onQueryEvent: queries.observe,
    ...(options.nats !== undefined && { nats: options.nats }),
    ...(corsOrigins && { corsOrigins }),
    ...(publicUrl !== undefined && { publicUrl }),
    ...(tiers !== undefined && { tiers: await readTiers(tiers) }),
    ...(limits !== undefined && { limits: await readLimits(limits) }),
    ...(metricsPort !== undefined && { metricsPort }),
    ...(metricsToken !== undefined && { metricsToken }),
  });
  if (!isLoopback(host) && !options.trustProxy)
    log.warn("listening without TLS: keys and queries travel in clear text", {
      host,
      fix: "put a proxy with TLS in front and add --trust-proxy",
    });
  growWithWork();
  const setupUrl = options.console ? await setUpAddress(plane, options) : undefined;
  const metricsUrl = metricsPort === undefined ? undefined : plane.metricsUrl;
  if (options.json)
    printJson({ ready: true, baseUrl: plane.url, ...(metricsUrl && { metricsUrl }), ...(setupUrl && { setupUrl }) });
  else {
    say(`Patchbay serves at ${plane.url}`);
    say(
      fields([
        ["data", withoutPassword(databaseUrl(options))],
        ["model", describeProvider(plane.provider)],
        ...(options.console
          ? [["console", `${publicUrl ?? reachable(plane, host)}/console`] satisfies [string, string]]
          : []),
        ...(metricsUrl === undefined ? [] : [["metrics", metricsUrl] satisfies [string, string]]),
      ]),
    );
    if (setupUrl !== undefined)
      say(`\nNobody can sign in yet. The owner sets up the console here, within 24 hours:\n${setupUrl}`);
  }
  await shutdown;
  if (queries.count() > 0) log.info("draining; a second SIGINT stops at once", { openQueries: queries.count() });
  await drain(() => plane.close({ graceMs: 22_000 }));
}

/**
 * Where the first owner comes in; undefined once somebody has. A start of the only server makes an earlier link useless; of
 * several replicas one makes it.
 */
async function setUpAddress(plane: ControlPlane, options: ServeOptions): Promise<string | undefined> {
  const link = await plane.admin.members.setUpLink({ replace: isEmbedded(options) });
  return link && (options.publicUrl ?? reachable(plane, options.host)) + link.path;
}
