import { VERSION } from "@patchbay/protocol";
import { Command, CommanderError } from "commander";
import { addAccessCommand } from "./commands/access/access.ts";
import { addAgentCommands } from "./commands/agents.ts";
import { addApprovalCommands } from "./commands/approvals.ts";
import { addAuditCommand } from "./commands/audit.ts";
import { addConnectCommand } from "./commands/connect.ts";
import { addCredentialCommands } from "./commands/credentials.ts";
import { addDatabaseCommands } from "./commands/database.ts";
import { addDevCommand } from "./commands/dev.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addGenerateCommand } from "./commands/generate.ts";
import { addInitCommand } from "./commands/init.ts";
import { addMemberCommands, addOrganisationCommands } from "./commands/organisations.ts";
import { addMcpCommand } from "./commands/mcp.ts";
import { addPinCommand } from "./commands/pin.ts";
import { addQueryCommand } from "./commands/query.ts";
import { addRunCommands } from "./commands/runs.ts";
import { addServiceTokenCommands } from "./commands/service-tokens.ts";
import { addServeCommand } from "./commands/serve.ts";
import { dropUnset, readEnvironment } from "./config.ts";
import { reasonOf, UsageFailure } from "@patchbay/loading/failure";
import { examples } from "./options.ts";
import { paintStatus, print, printStatus, written } from "./output.ts";

export { written };

/** The `patchbay` command with all its commands and options. */
export function createProgram(): Command {
  const program = new Command("patchbay")
    .description("Put a language model in front of your functions, without opening a port.")
    .version(VERSION)
    .helpCommand("help [command]", "show help for a command")
    .exitOverride()
    .configureOutput({ writeOut: (text) => print(text.trimEnd()), writeErr: (text) => printStatus(text.trimEnd()) })
    .showHelpAfterError("(add --help for usage)");
  program.commandsGroup("Run:");
  addInitCommand(program);
  addDevCommand(program);
  addServeCommand(program);
  addConnectCommand(program);
  addQueryCommand(program);
  addMcpCommand(program);
  addAccessCommand(program);
  addPinCommand(program);
  addDoctorCommand(program);
  program.commandsGroup("Administer (directly on the database, also while a server runs):");
  addAgentCommands(program);
  addOrganisationCommands(program);
  addCredentialCommands(program);
  addMemberCommands(program);
  addServiceTokenCommands(program);
  addGenerateCommand(program);
  addRunCommands(program);
  addApprovalCommands(program);
  addAuditCommand(program);
  addDatabaseCommands(program);
  examples(
    program,
    "patchbay dev service.ts                 # everything in one process, for development",
    'patchbay query "Which orders are late?" # query it',
    "patchbay serve                          # the control plane only",
  ).addHelpText(
    "after",
    "\nEvery option is also an environment variable (--data-dir is PATCHBAY_DATA_DIR). A .env file in this folder is read; secrets also from files (PATCHBAY_DATABASE_FILE).",
  );
  return program;
}

/** Runs one command line and resolves with its exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function run(argv: string[]): Promise<number> {
  // A reader that closes the pipe early (`patchbay runs list | head`) is not a failure.
  process.stdout.on("error", () => process.exit(0));
  try {
    const program = createProgram();
    dropUnset(readEnvironment(), program);
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    printStatus(`${paintStatus("red", "error:")} ${reasonOf(error)}`);
    return error instanceof UsageFailure ? 2 : 1;
  }
}
