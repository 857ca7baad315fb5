import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { ExportedRun } from "@patchbay/control-plane";
import type { Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { testFileFor } from "../export/test-file.ts";
import { examples, option } from "../options.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

interface ExportOptions extends AdminOptions {
  output?: string;
}

/** `runs export`: a run that was, as a test that can be. */
export function addExportCommand(runs: Command): void {
  const command = adminCommand(runs, "export <id>", "make a recording of a finished run, for the test kit to replay")
    .addOption(option("--output <file>", "write it there (NAME.json), with a test that replays it beside it"))
    .action(exportRun);
  examples(command, "patchbay runs export run_9f... --output test/runs/refund.json");
}

async function exportRun(id: string, options: ExportOptions): Promise<void> {
  const { output } = options;
  if (output !== undefined && !output.endsWith(".json"))
    throw new CommandFailure("--output must name a file that ends in .json.");
  const { exportRun: make } = await import("@patchbay/control-plane");
  const text = (run: ExportedRun) => JSON.stringify(run, null, 2);
  if (output === undefined) return administer(options, (_admin, store) => make(store, id), text);
  await administer(
    options,
    async (_admin, store) => {
      const run = await make(store, id);
      await mkdir(dirname(output), { recursive: true });
      await writeFile(output, `${text(run)}\n`);
      return { file: output, ...(await writeTest(output, run)) };
    },
    ({ file, testFile, kept }) =>
      kept ? `Wrote ${file}. ${testFile} was there already and is as it was.` : `Wrote ${file} and ${testFile}.`,
  );
}

/** The test is its owner's from then on: one that is there is left alone. */
async function writeTest(output: string, run: ExportedRun): Promise<{ testFile: string; kept: boolean }> {
  const testFile = output.replace(/\.json$/, ".test.ts");
  const kept = existsSync(testFile);
  if (!kept) await writeFile(testFile, testFileFor(output, run));
  return { testFile, kept };
}
