import { Argument, type Command } from "commander";
import { examples, jsonOption } from "../options.ts";
import { print, printJson } from "../output.ts";

const KINDS = { "api-key": "api", "runtime-key": "runtime", "service-token": "service" } as const;

/** `generate`: a secret for the `--init-` options of `serve`, which no database has yet. */
export function addGenerateCommand(program: Command): void {
  const command = program
    .command("generate")
    .description("print a new secret for the first start of `serve`; stores nothing")
    .addArgument(new Argument("<kind>", "what it is for").choices(Object.keys(KINDS)))
    .addOption(jsonOption())
    .action(async (kind: keyof typeof KINDS, { json }: { json?: true }) => {
      const { generateSecret } = await import("@patchbay/control-plane/admin");
      const secret = generateSecret(KINDS[kind]);
      if (json) printJson({ kind, secret });
      else print(secret);
    });
  examples(
    command,
    "patchbay generate service-token > service-token",
    "PATCHBAY_INIT_SERVICE_TOKEN_FILE=service-token patchbay serve",
  );
}
