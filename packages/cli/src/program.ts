import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { addAccessCommand } from "./commands/access.ts";
import { addAccountCommands } from "./commands/accounts.ts";
import { addAgentCommands } from "./commands/agents.ts";
import { addAuditCommand } from "./commands/audit.ts";
import { addConnectCommand } from "./commands/connect.ts";
import { addCredentialCommands } from "./commands/credentials.ts";
import { addDatabaseCommands } from "./commands/db.ts";
import { addDevCommand } from "./commands/dev.ts";
import { addDoctorCommand } from "./commands/doctor.ts";
import { addMemberCommands } from "./commands/members.ts";
import { addQueryCommand } from "./commands/query.ts";
import { addRecordCommands } from "./commands/records.ts";
import { addServeCommand } from "./commands/serve.ts";
import { dropUnset, readEnvironment } from "./config.ts";
import { reasonOf } from "./failure.ts";
import { examples } from "./options.ts";
import { paintLog, say, tell, written } from "./output.ts";

export { written };

function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  const program = new Command("patchbay")
    .description("Put a language model in front of your functions, without opening a port.")
    .version(version)
    .helpCommand("help [command]", "show the help of a command")
    .exitOverride()
    .configureOutput({ writeOut: (text) => say(text.trimEnd()), writeErr: (text) => tell(text.trimEnd()) })
    .showHelpAfterError("(add --help for what is possible)");
  program.commandsGroup("Run:");
  addDevCommand(program);
  addServeCommand(program);
  addConnectCommand(program);
  addQueryCommand(program);
  addAccessCommand(program);
  addDoctorCommand(program);
  program.commandsGroup("Administer (straight on the database, also beside a running server):");
  addAgentCommands(program);
  addAccountCommands(program);
  addCredentialCommands(program);
  addMemberCommands(program);
  addRecordCommands(program);
  addAuditCommand(program);
  addDatabaseCommands(program);
  examples(
    program,
    "patchbay dev service.ts                 # everything in one process, for development",
    'patchbay query "Which orders are late?" # ask it',
    "patchbay serve                          # the control plane alone",
  ).addHelpText(
    "after",
    "\nEvery option is an environment variable too (--data-dir is PATCHBAY_DATA_DIR); a .env file in this folder is read.",
  );
  return program;
}

/** Runs one command line and gives its exit code: 0, 1 for a failure, 2 for wrong usage. */
export async function run(argv: string[]): Promise<number> {
  // A reader that has seen enough (`patchbay runs list | head`) is no failure.
  process.stdout.on("error", () => process.exit(0));
  try {
    const program = createProgram();
    dropUnset(readEnvironment(), program);
    await program.parseAsync(argv);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    tell(`${paintLog("red", "error:")} ${reasonOf(error)}`);
    return 1;
  }
}
