import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { variableSections } from "../docs/generators/configuration.ts";
import { createProgram } from "@patchbay/cli/program";
import { SECRETS } from "@patchbay/cli/secret-files";

const root = join(import.meta.dirname, "..");
/** What an operator reads: the pages, and the files of `deploy` with their comments. */
const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md", "deploy"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)) && !file.startsWith("test/"));

const program = createProgram();
const known = new Set([
  ...variableSections().flatMap(({ entries }) => entries.map(({ name }) => name.replaceAll("`", ""))),
  ...SECRETS.map((name) => `${name}_FILE`),
]);
/** Variables of the tests, and the beginnings of several names. */
const OTHERS = /^PATCHBAY_(?:TEST_\w+|FAULT_\w+|\w*_)$/;

/** Subcommands and options that a text writes after `patchbay`, and that do not exist. */
function unknownCommands(text: string): string[] {
  return [...text.replaceAll(/\\\n\s*#?\s*/g, " ").matchAll(/\bpatchbay ([a-z][a-z-]*[^`\n|;#)"]*)/g)].flatMap(
    ([line]) => {
      const [, ...words] = line.trim().split(/\s+/);
      let command: Command = program;
      let next: Command | undefined;
      while ((next = command.commands.find((one) => one.name() === words[0]))) {
        command = next;
        words.shift();
      }
      // Prose about Patchbay, and not a command.
      if (command === program) return [];
      const [, first = ""] = /^([a-z-]+)$/.exec(words[0] ?? "") ?? [];
      const options = new Set(["--help", ...command.options.flatMap(({ long }) => long ?? [])]);
      const flags = words.flatMap((word) => /^--[a-z][a-z-]*/.exec(word)?.[0] ?? []);
      const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
      const isKnown = flags.every((flag) => options.has(flag)) && (!isGroup || first === "");
      return isKnown ? [] : [line];
    },
  );
}

const unknownVariables = (text: string): string[] =>
  [...text.matchAll(/\bPATCHBAY_[A-Z_]+\b/g)]
    .map(([name]) => name)
    .filter((name) => !known.has(name) && !OTHERS.test(name));

test.each(files)("%s names commands, options and variables that exist", (file) => {
  const text = readFileSync(join(root, file), "utf8");

  expect([...unknownCommands(text), ...unknownVariables(text)]).toEqual([]);
});

test("an unknown subcommand, option and variable are found", () => {
  const lines = ["patchbay keys forge ID", "patchbay serve --speed 9", "patchbay keys create --agent ID --roles staff"];
  expect(unknownCommands(lines.join("\n"))).toEqual(lines.slice(0, 2));
  expect(unknownVariables("PATCHBAY_NOTHING and PATCHBAY_DATABASE_FILE")).toEqual(["PATCHBAY_NOTHING"]);
});
