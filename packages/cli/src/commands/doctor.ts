import type { Command } from "commander";
import type { DoctorOptions } from "../doctor/examine.ts";
import * as flags from "../options.ts";

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("say what is wrong with the set-up, and how to mend it")
    .argument("[file]", "module with the functions (default: service.ts, where there is one)")
    .addOption(flags.portOption())
    .addOption(flags.hostOption())
    .addOption(flags.databaseOption())
    .addOption(flags.dataDirOption())
    .addOption(flags.natsOption())
    .addOption(flags.option("--url <url>", "look at a running service too").argParser(flags.parseUrl))
    .addOption(flags.agentOption("with --key: look at this agent of it"))
    .addOption(flags.option("--key <key>", "API key of the agent; one short query is asked with it"))
    .addOption(flags.jsonOption())
    .action(async (file: string | undefined, options: DoctorOptions) => {
      const { examine } = await import("../doctor/examine.ts");
      await examine(file, options);
    });
  flags.examples(
    command,
    "patchbay doctor",
    "patchbay doctor --url https://queries.example.com --agent agt_... --key service_live_...",
  );
}
