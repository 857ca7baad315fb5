import { CREATE_OPTIONS, type CreateOptions, createService, describeCreated } from "@patchbay/create";
import type { Command } from "commander";
import { examples, jsonOption, option } from "../options.ts";
import { print, printJson } from "../output.ts";

export function addInitCommand(program: Command): void {
  const command = program
    .command("init")
    .description("create a new service in a folder, as `npm create @patchbay@latest` does")
    .argument("[folder]", "service folder", ".");
  for (const [flags, description] of CREATE_OPTIONS) command.addOption(option(flags, description));
  command.addOption(jsonOption()).action(init);
  examples(
    command,
    "patchbay init my-service",
    "patchbay init --yes --no-install       # in this folder, without questions",
  );
}

async function init(folder: string, { json, ...options }: CreateOptions & { json?: true }): Promise<void> {
  // With --json, stdout is for one object, and questions would be written to it.
  const created = await createService({ ...options, folder, ...(json && { yes: true }) });
  if (json) printJson(created);
  else print(describeCreated(created));
}
