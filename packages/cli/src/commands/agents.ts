import { ACCESS_CHANGES, type AccessChanges, type AgentSettings, present } from "@patchbay/protocol";
import type { Command } from "commander";
import { settingsChange, settingsFields, settingsOptions, type SettingsOptions } from "./agent-settings.ts";
import { examples, option, orgOption, pricesOption, tiersOption } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";
import { addWebhookCommands } from "./webhooks.ts";

interface UpdateOptions extends AdminOptions {
  name?: string;
  instructions?: string;
  accessChanges?: AccessChanges;
}

const instructionsOption = () =>
  option("--instructions <text>", "text for the model in every query, before the instructions of the services");

/** `agents`: create, list, update, delete, and accept wider access. */
export function addAgentCommands(program: Command): void {
  const agents = program.command("agents").description("manage agents, which answer queries");
  const create = adminCommand(
    agents,
    "create <name>",
    "create an agent with an API key, and the database if it is missing",
    {
      name: "what the console and lists show; it need not be unique",
    },
  )
    .addOption(orgOption("organisation of the agent (default: the only one; without any, one is made)"))
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
        // An organisation that is named must exist, so that a new database cannot have it.
        { mayCreate: org === undefined },
      );
    });
  examples(create, 'patchbay agents create "Order desk" --instructions "Answer in one sentence."');
  adminCommand(agents, "list", "list the agents")
    .addOption(orgOption("only agents of this organisation (default: of every one)"))
    .action((options: AdminOptions & { org?: string }) =>
      administer(
        options,
        async (admin) => ({ items: await admin.listAgents(options.org) }),
        ({ items }) =>
          table(
            ["id", "name", "organisation", "model"],
            items.map((agent) => [agent.agentId, agent.name, agent.orgId, modelOf(agent.settings)]),
            `No agents yet. Create one with \`${adminCommandLine("agents create NAME", options)}\`.`,
          ),
      ),
    );
  addUpdate(agents);
  addWebhookCommands(agents);
  const accept = adminCommand(agents, "accept-access <agent> <set>", "confirm a function set that widens access", {
    agent: "id of the agent, as `agents list` shows it",
    set: "hash of the set, or at least 8 characters that it begins with",
  })
    .addHelpText(
      "after",
      "\nSET is the set's hash, or at least its first 8 characters. Confirms all deployments that wait with this set.",
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
  adminCommand(agents, "delete <id>", "delete an agent, with its keys and tokens", {
    id: "id of the agent, as `agents list` shows it; its connections and streams end",
  }).action((id: string, options: AdminOptions) =>
    administer(
      options,
      (admin) => admin.deleteAgent(id),
      ({ agentId }) => `Deleted ${agentId}.`,
    ),
  );
}

function addUpdate(agents: Command): void {
  const update = adminCommand(agents, "update <id>", "change an agent's settings; `none` clears one", {
    id: "id of the agent, as `agents list` shows it",
  })
    .addOption(option("--name <name>", "what the console and lists show from now on"))
    .addOption(instructionsOption())
    .addOption(
      option(
        "--access-changes <mode>",
        "use functions that widen access immediately (follow), or after a developer or owner confirms them (confirm)",
      ).choices(ACCESS_CHANGES),
    );
  for (const one of settingsOptions()) update.addOption(one);
  update
    .addOption(tiersOption())
    .addOption(pricesOption())
    .action(async (id: string, options: UpdateOptions & SettingsOptions) => {
      const { name, instructions, accessChanges } = options;
      const settings = await settingsChange(options, update);
      const change = present({ name, instructions, accessChanges, settings });
      if (Object.keys(change).length === 0)
        update.error("error: nothing to change: give --name, --instructions, --access-changes or a setting");
      return administer(
        options,
        (admin) => admin.updateAgent(id, change),
        (agent) =>
          fields([
            ["agent", agent.agentId],
            ["name", agent.name],
            ["instructions", agent.instructions],
            ["access changes", agent.accessChanges],
            ...settingsFields(agent.settings),
          ]),
      );
    });
  examples(
    update,
    "patchbay agents update agt_... --access-changes confirm",
    "patchbay agents update agt_... --provider anthropic --model claude-sonnet-5-5 --fallback openai/gpt-6-luna,gemini",
    "patchbay agents update agt_... --max-cost-run 0.25 --locked model,temperature --steps none",
  );
}

const modelOf = ({ provider, model }: AgentSettings): string =>
  provider === undefined && model === undefined ? "default" : [provider, model].filter(Boolean).join("/");
