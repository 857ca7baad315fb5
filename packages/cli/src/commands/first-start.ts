import type { FirstStart } from "@patchbay/control-plane";
import { present } from "@patchbay/kit";
import type { Command } from "commander";
import { option } from "../options.ts";

/** The `--init-` options for `serve`. */
export interface FirstStartOptions {
  initOrg?: string;
  initAgent?: string;
  initAgentId?: string;
  initApiKey?: string;
  initRuntimeKey?: string;
  initOwnerEmail?: string;
  initOwnerPassword?: string;
  initServiceToken?: string;
}

/** Adds the options that set up an empty service at its first start. Later starts compare them with what the first one used. */
export function addFirstStartOptions(command: Command): Command {
  const described: [flags: string, what: string][] = [
    ["--init-org <name>", "organisation to create at the first start"],
    ["--init-agent <name>", "agent in --init-org to create at the first start"],
    ["--init-agent-id <id>", "id for --init-agent, agt_ with letters and digits (default: random)"],
    [
      "--init-api-key <key>",
      "API key for --init-agent, as `generate api-key` prints one; set the variable or its file",
    ],
    ["--init-runtime-key <key>", "runtime key for --init-agent, as `generate runtime-key` prints one"],
    ["--init-owner-email <email>", "e-mail address for an owner of --init-org"],
    ["--init-owner-password <password>", "first password for --init-owner-email, at least 12 characters"],
    [
      "--init-service-token <token>",
      "service token for --init-org with all scopes, as `generate service-token` prints one",
    ],
  ];
  for (const [flags, what] of described) command.addOption(option(flags, what));
  return command;
}

/** What the first start sets up; undefined without such options. */
export function firstStartOf(options: FirstStartOptions): FirstStart | undefined {
  const first = present({
    org: options.initOrg,
    agent: options.initAgent,
    agentId: options.initAgentId,
    apiKey: options.initApiKey,
    runtimeKey: options.initRuntimeKey,
    ownerEmail: options.initOwnerEmail,
    ownerPassword: options.initOwnerPassword,
    serviceToken: options.initServiceToken,
  });
  return Object.keys(first).length === 0 ? undefined : first;
}
