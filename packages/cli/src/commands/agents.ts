import { ACCESS_CHANGES, type AgentSettings } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Command } from "commander";
import type { AccessReview } from "@patchbay/protocol/console";
import { settingsChange, settingsFields, settingsOptions } from "./agent-settings.ts";
import { option, orgOption, parseCount, parseList, pricesOption, providersOption, tiersOption } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { fields, listing } from "../table.ts";
import { adminCommand, databaseCommand, SHOWN_ONCE, shownMembers, withAdmin } from "./administer.ts";
import { addWebhookCommands } from "./webhooks.ts";

const instructionsOption = () =>
  option("--instructions <text>", "text for the model in every query, before the services' instructions");

const ID = "agent id, as `agents list` shows it";

/** `agents`: create, list, update, delete, and accept wider access. */
export function addAgentCommands(program: Command): void {
  const agents = program.command("agents").description("manage agents, which answer queries");
  adminCommand(agents, "create <name>", "create an agent with an API key, and the database if it is missing", {
    arguments: { name: "what the console and lists show; it need not be unique" },
    options: [
      orgOption("the agent's organisation (default: the only one; without any, one is created)"),
      instructionsOption(),
    ],
    examples: ['patchbay agents create "Order desk" --instructions "Answer in one sentence."'],
    // A named organisation must exist, so that a new database cannot have it.
    mayCreate: ({ org }) => org === undefined,
    work: ({ admin, args: [name], options: { org, instructions } }) =>
      admin.createAgent(name, present({ orgId: org, instructions })),
    show: ({ agentId, orgId, keyId, apiKey }) =>
      `${shownMembers({ agent: agentId, organisation: orgId, key: keyId, "API key": apiKey })}\n${SHOWN_ONCE}`,
  });
  adminCommand(agents, "list", "list the agents", {
    options: [orgOption("only this organisation's agents (default: all agents)")],
    work: async ({ admin, options }) => ({ items: await admin.listAgents(options.org) }),
    show: ({ items }, { options }) =>
      listing(items, `No agents yet. Create one with \`${adminCommandLine("agents create NAME", options)}\`.`, {
        id: "agentId",
        name: "name",
        organisation: "orgId",
        model: ({ settings }) => modelOf(settings),
      }),
  });
  addUpdate(agents);
  addWebhookCommands(agents);
  adminCommand(agents, "accept-access <agent> <set>", "confirm a function set that widens access", {
    arguments: { agent: ID, set: "the set's hash, or at least its first 8 characters" },
    work: ({ admin, args }) => admin.acceptAccess(...args),
    show: ({ deployment, service, manifestHash, widenings }) =>
      [
        `Confirmed deployment ${deployment} of ${service} (function set ${manifestHash}).`,
        ...widenings.map(({ text }) => `  ${text}`),
      ].join("\n"),
    examples: ["patchbay agents accept-access agt_... 3f9a1c2e"],
  }).addHelpText(
    "after",
    "\nSET is the set's hash, or at least its first 8 characters. Confirms all deployments that wait with this set.",
  );
  adminCommand(agents, "review <agent>", "show the last sign-off of an agent's access, or sign it off", {
    arguments: { agent: ID },
    options: [
      option("--sign <sets>", "sign off these sets: all in force, by 8 characters or more", { parse: parseList }),
      option("--member <member>", "with --sign: the member who reviewed them, by id or address"),
      option("--days <n>", "with --sign: the days until the next review", { parse: parseCount, preset: 90 }),
    ],
    work: ({ admin, args: [id], options: { sign: sets, member, days } }) =>
      sets ? admin.signAccess(id, { sets, days, ...present({ member }) }) : admin.accessReview(id),
    show: ({ sets, signed }) =>
      [
        listing(sets, "No runtime is connected, so that no access is in force.", {
          service: "service",
          set: "manifestHash",
          "lock (SHA-256)": ({ lock }) => lock ?? "none reported",
        }),
        signed ? `Signed off by ${signed.by} at ${signed.at}; due ${signed.dueAt}.` : "Not signed off yet.",
      ].join("\n"),
    fault: reviewFaultOf,
    examples: [
      "patchbay agents review agt_...   # exit 1 if the access changed, or a review is due",
      "patchbay agents review agt_... --sign 3f9a1c2e,77aa01b3 --member ada@example.com --days 90",
    ],
  });
  adminCommand(agents, "delete <id>", "delete an agent, with its keys and tokens", {
    arguments: { id: `${ID}; its connections and streams end` },
    work: ({ admin, args: [id] }) => admin.deleteAgent(id),
    show: ({ agentId }) => `Deleted ${agentId}.`,
  });
}

function addUpdate(agents: Command): void {
  databaseCommand(agents, "update <id>", "change an agent's settings; `none` clears one", {
    arguments: { id: ID },
    options: [
      option("--name <name>", "what the console and lists show from now on"),
      instructionsOption(),
      option(
        "--access-changes <mode>",
        "use functions that widen access immediately (follow), or after a developer or owner confirms them (confirm)",
        { choices: ACCESS_CHANGES },
      ),
      ...settingsOptions(),
      tiersOption(),
      pricesOption(),
      providersOption(),
    ],
    examples: [
      "patchbay agents update agt_... --access-changes confirm",
      "patchbay agents update agt_... --provider anthropic --model claude-sonnet-5-5 --fallback openai/gpt-6-luna,gemini",
      "patchbay agents update agt_... --max-cost-run 0.25 --locked model,temperature --steps none",
    ],
    async work({ args: [id], options, refuse }) {
      const { name, instructions, accessChanges } = options;
      const change = present({ name, instructions, accessChanges, settings: await settingsChange(options, refuse) });
      if (Object.keys(change).length === 0)
        refuse("nothing to change: give --name, --instructions, --access-changes or a setting");
      return await withAdmin(options, (admin) => admin.updateAgent(id, change));
    },
    show: ({ agentId, name, instructions, accessChanges, settings }) =>
      fields([
        ["agent", agentId],
        ["name", name],
        ["instructions", instructions],
        ["access changes", accessChanges],
        ...settingsFields(settings),
      ]),
  });
}

/** Why the access needs a review again, if it does. */
export function reviewFaultOf({ signed, changed, isDue }: AccessReview): string | undefined {
  if (changed.length > 0)
    return `The access of ${changed.join(", ")} differs from what was signed off at ${signed?.at}.`;
  return isDue ? `The access review is due since ${signed?.dueAt}.` : undefined;
}

const modelOf = ({ provider, model }: AgentSettings): string =>
  provider === undefined && model === undefined ? "default" : [provider, model].filter(Boolean).join("/");
