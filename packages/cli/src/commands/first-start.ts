import type { FirstStart } from "@patchbay/control-plane";
import { present } from "@patchbay/kit";
import { option, type OptionsOf } from "../options.ts";

/** Options that set up an empty service at its first start. Later starts compare them with what the first one used. */
export const firstStartOptions = () => [
  option("--init-org <name>", "organisation to create at the first start"),
  option("--init-agent <name>", "agent in --init-org to create at the first start"),
  option("--init-agent-id <id>", "id for --init-agent, agt_ with letters and digits (default: random)"),
  option(
    "--init-api-key <key>",
    "API key for --init-agent, as `generate api-key` prints one; set the variable or its file",
  ),
  option("--init-runtime-key <key>", "runtime key for --init-agent, as `generate runtime-key` prints one"),
  option("--init-owner-email <email>", "e-mail address for an owner of --init-org"),
  option("--init-owner-password <password>", "first password for --init-owner-email, at least 12 characters"),
  option(
    "--init-service-token <token>",
    "service token for --init-org with all scopes, as `generate service-token` prints one",
  ),
];

/** What the first start sets up; undefined without such options. */
export function firstStartOf(options: OptionsOf<typeof firstStartOptions>): FirstStart | undefined {
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
