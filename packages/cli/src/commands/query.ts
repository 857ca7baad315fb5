import type { Command } from "commander";
import {
  agentOption,
  databaseOption,
  dataDirOption,
  examples,
  jsonOption,
  option,
  parseList,
  parseUrl,
} from "../options.ts";
import type { QueryOptions } from "./query-once.ts";

export function addQueryCommand(program: Command): void {
  const command = program
    .command("query")
    .description("ask an agent, and show its answer")
    .argument("<text>", "the query, in plain words")
    .addOption(option("--url <url>", "base address of the service").argParser(parseUrl))
    .addOption(agentOption("the agent to ask"))
    .addOption(option("--key <key>", "API key of the agent (better given as PATCHBAY_KEY)"))
    .addOption(option("--role <role>", "role under which the functions are called"))
    .addOption(
      option("--as <roles>", "ask as each of these roles (none: without one), and show them side by side")
        .argParser(parseList)
        .conflicts(["role", "thread", "stream"]),
    )
    .addOption(option("--context <json>", "context for the functions, a JSON object"))
    .addOption(option("--thread <id>", "thread to continue"))
    .addOption(option("--stream", "show reasoning and function calls while they happen"))
    .addOption(dataDirOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async (text: string, options: QueryOptions) => {
      const { query } = await import("./query-once.ts");
      await query(text, options);
    });
  examples(
    command,
    'patchbay query "Which orders are late?"                      # asks the service that `patchbay dev` runs here',
    'patchbay query "Refund order #W12" --role manager --stream',
    'patchbay query "And the one before?" --thread thr_... --json',
    'patchbay query "Cancel order #W12" --as customer,agent,manager,none',
  ).addHelpText(
    "after",
    "\nWithout --url, --agent and --key it asks the service that `patchbay dev` started on this data folder.",
  );
}
