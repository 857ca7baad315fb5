import { Command, CommanderError } from "commander";
import { createService, describeCreated } from "./create.ts";
import { CreateFailure } from "./failure.ts";
import { CREATE_OPTIONS, type CreateOptions } from "./options.ts";

/** Runs one command line and resolves with its exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function run(argv: string[]): Promise<number> {
  const command = new Command("create-patchbay")
    .description("Create a Patchbay service in a new folder.")
    .usage("[options] [folder]")
    .argument("[folder]", "service folder; . for this one")
    .exitOverride()
    .showHelpAfterError("(add --help for usage)")
    .action(async (folder: string | undefined, options: CreateOptions) => {
      process.stdout.write(`${describeCreated(await createService({ ...options, folder }))}\n`);
    });
  for (const [flags, description] of CREATE_OPTIONS) command.option(flags, description);
  try {
    await command.parseAsync(argv);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`error: ${error instanceof CreateFailure ? error.message : String(error)}\n`);
    return 1;
  }
}
