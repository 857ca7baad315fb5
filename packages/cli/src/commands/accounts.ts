import { AccessChanges } from "@patchbay/protocol";
import type { Command } from "commander";
import { examples, option, tiersOption } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

interface AgentSettings {
  name?: string;
  instructions?: string;
  accessChanges?: AccessChanges;
}

const orgOption = () => option("--org <id>", "the organisation");
const instructionsOption = () => option("--instructions <text>", "what the agent is told before every query");

/** `orgs`, `agents` and `credits`. */
export function addAccountCommands(program: Command): void {
  addOrgs(program);
  addAgents(program);
  addCredits(program);
}

function addOrgs(program: Command): void {
  const orgs = program.command("orgs").description("organisations: who pays, and how many queries they may ask");
  const create = adminCommand(orgs, "create <name>", "make an organisation")
    .addOption(option("--tier <tier>", "sandbox, starter, growth or scale").default("sandbox"))
    .addOption(tiersOption())
    .action((name: string, options: AdminOptions & { tier: string }) =>
      administer(
        options,
        (admin) => admin.createOrg(name, options.tier),
        ({ orgId, tier }) =>
          fields([
            ["organisation", orgId],
            ["tier", tier],
          ]),
        { mayCreate: true },
      ),
    );
  examples(create, "patchbay orgs create Acme --tier growth", "patchbay credits grant --org org_... 50");
  adminCommand(orgs, "list", "list the organisations").action((options: AdminOptions) =>
    administer(
      options,
      async (admin) => ({ items: await admin.listOrgs() }),
      ({ items }) =>
        table(
          ["id", "name", "tier"],
          items.map((org) => [org.orgId, org.name, org.tier]),
          "No organisations yet. Make one with `patchbay orgs create NAME`.",
        ),
    ),
  );
}

function addAgents(program: Command): void {
  const agents = program.command("agents").description("agents: what queries are asked of");
  const create = adminCommand(agents, "create <name>", "make an agent, and an API key with it")
    .addOption(orgOption())
    .addOption(instructionsOption())
    .action((name: string, options: AdminOptions & { org?: string; instructions?: string }) => {
      const { org, instructions } = options;
      const more = { ...(org !== undefined && { orgId: org }), ...(instructions !== undefined && { instructions }) };
      return administer(
        options,
        (admin) => admin.createAgent(name, more),
        (made) =>
          `${fields([
            ["agent", made.agentId],
            ["organisation", made.orgId],
            ["key", made.keyId],
            ["API key", made.apiKey],
          ])}\n${SHOWN_ONCE}`,
        { mayCreate: true },
      );
    });
  examples(create, 'patchbay agents create "Order desk" --instructions "Answer in one sentence."');
  adminCommand(agents, "list", "list the agents")
    .addOption(orgOption())
    .action((options: AdminOptions & { org?: string }) =>
      administer(
        options,
        async (admin) => ({ items: await admin.listAgents(options.org) }),
        ({ items }) =>
          table(
            ["id", "name", "organisation"],
            items.map((agent) => [agent.agentId, agent.name, agent.orgId]),
            "No agents yet. Make one with `patchbay agents create NAME`.",
          ),
      ),
    );
  const update = adminCommand(agents, "update <id>", "change an agent's settings")
    .addOption(option("--name <name>", "the new name"))
    .addOption(instructionsOption())
    .addOption(
      option(
        "--access-changes <mode>",
        "functions that widen access are used at once (follow), or after a developer or an owner confirms them (confirm)",
      ).choices(AccessChanges.options),
    )
    .action((id: string, { name, instructions, accessChanges, ...options }: AdminOptions & AgentSettings) => {
      const change = {
        ...(name !== undefined && { name }),
        ...(instructions !== undefined && { instructions }),
        ...(accessChanges !== undefined && { accessChanges }),
      };
      if (Object.keys(change).length === 0)
        update.error("error: nothing to change: give --name, --instructions or --access-changes");
      return administer(
        options,
        (admin) => admin.updateAgent(id, change),
        (agent) =>
          fields([
            ["agent", agent.agentId],
            ["name", agent.name],
            ["instructions", agent.instructions],
            ["access changes", agent.accessChanges],
          ]),
      );
    });
  examples(update, "patchbay agents update agt_... --access-changes confirm");
  const accept = adminCommand(agents, "accept-access <agent> <set>", "use a function set that widens access")
    .addHelpText(
      "after",
      "\nSET is the set's hash, or at least 8 characters that it begins with. The newest deployment with this set is confirmed.",
    )
    .action((agentId: string, set: string, options: AdminOptions) =>
      administer(
        options,
        (admin) => admin.acceptAccess(agentId, set),
        ({ deployment, service, manifestHash, widenings }) =>
          [
            `Confirmed deployment ${deployment} of ${service} (function set ${manifestHash}).`,
            ...widenings.map(({ text }) => `  ${text}`),
          ].join("\n"),
      ),
    );
  examples(accept, "patchbay agents accept-access agt_... 3f9a1c2e");
  adminCommand(agents, "delete <id>", "delete an agent; its keys and tokens stop working").action(
    (id: string, options: AdminOptions) =>
      administer(
        options,
        (admin) => admin.deleteAgent(id),
        ({ agentId }) => `Deleted ${agentId}.`,
      ),
  );
}

function addCredits(program: Command): void {
  const credits = program
    .command("credits")
    .description("credits: what organisations outside the sandbox tier pay with");
  const show = ({ orgId, balanceUsd }: { orgId: string; balanceUsd: number }) =>
    fields([
      ["organisation", orgId],
      ["balance", `${balanceUsd} USD`],
    ]);
  const grant = adminCommand(credits, "grant <amount-usd>", "add to an organisation's balance")
    .addOption(orgOption().makeOptionMandatory())
    .action((amount: string, options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.grant(options.org, amount), show),
    );
  examples(grant, "patchbay credits grant --org org_... 12.50");
  adminCommand(credits, "show", "show an organisation's balance")
    .addOption(orgOption().makeOptionMandatory())
    .action((options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.showCredits(options.org), show),
    );
}
