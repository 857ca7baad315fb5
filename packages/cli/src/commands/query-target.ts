import { isClearText, isLoopback } from "@patchbay/kit";
import type { DatabaseOptions } from "../database.ts";
import { readDevCredentials } from "../dev/credentials.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import * as flags from "../options.ts";
import { paintStatus, printStatus } from "../output.ts";

/** A command's agent, with a key for it. */
export interface QueryTarget {
  url: string;
  agent: string;
  key: string;
}

/** The options for a command that reads {@link targetOf} them. */
export const targetOptions = (agent: string) => [
  flags.option("--url <url>", "service address (default: the one that `dev` runs for this folder)", {
    parse: flags.parseUrl,
  }),
  flags.agentOption(agent),
  flags.keyOption("PATCHBAY_API_KEY", "the agent's API key (better given as PATCHBAY_API_KEY)"),
];

/** The agent in the options, by default the one from `dev`. Throws a CommandFailure that names the missing options. */
export function targetOf({ url, agent, key: givenKey, dataDir }: Partial<QueryTarget> & DatabaseOptions): QueryTarget {
  const key = flags.keyOr(givenKey, "PATCHBAY_API_KEY");
  const kept = url === undefined || agent === undefined || key === undefined ? readDevCredentials(dataDir) : undefined;
  // The development key is never sent to another service.
  const dev = url === undefined || isSameService(url, kept?.baseUrl) ? kept : undefined;
  const target = { url: url ?? dev?.baseUrl, agent: agent ?? dev?.agentId, key: key ?? dev?.apiKey };
  const missing = (["url", "agent", "key"] as const).filter((name) => !target[name]);
  if (missing.length > 0)
    throw new CommandFailure(
      kept && !dev
        ? `Missing ${missing.map((name) => `--${name}`).join(", ")}: the credentials in ${dataDir} are for ${kept.baseUrl} only.`
        : `Missing ${missing.map((name) => `--${name}`).join(", ")}, and ${dataDir} holds no credentials of \`patchbay dev\`.`,
    );
  if (isClearText(target.url ?? ""))
    printStatus(
      `${paintStatus("yellow", "warning")} ${target.url} is not encrypted: the key and the query travel in clear text. Use https://.`,
    );
  return target as QueryTarget;
}

function isSameService(url: string, other: string | undefined): boolean {
  const [a, b] = [URL.parse(url), URL.parse(other ?? "")];
  if (!a || !b || a.protocol !== b.protocol || a.port !== b.port) return false;
  return a.hostname === b.hostname || (isLoopback(a.hostname) && isLoopback(b.hostname));
}
