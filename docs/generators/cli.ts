import type { Argument, Command, Option } from "commander";
import { createProgram } from "@patchbay/cli/program";
import type { Entry, Section } from "./section.ts";

/** The commands that run something, with the words before them: `agents create`. */
export function commands(): { path: string; command: Command }[] {
  const below = (command: Command, path: string): { path: string; command: Command }[] => [
    ...(command.commands.length === 0 || command.registeredArguments.length > 0 ? [{ path, command }] : []),
    ...command.commands.flatMap((child) => below(child, `${path} ${child.name()}`.trim())),
  ];
  return below(createProgram(), "");
}

/** Every command with its arguments and options, from the definitions that `--help` shows. */
export function cliSections(): Section[] {
  return commands().map(({ path, command }) => ({
    heading: `patchbay ${path}`,
    text: `${sentence(command.description())}\n\n\`\`\`\npatchbay ${path} ${command.usage()}\n\`\`\``,
    columns: ["argument or option", "variable", "meaning"],
    entries: [...command.registeredArguments.map(argumentEntry), ...command.options.filter(isShown).map(optionEntry)],
  }));
}

const isShown = ({ hidden }: Option) => !hidden;

function argumentEntry(argument: Argument): Entry {
  const name = argument.required ? `<${argument.name()}>` : `[${argument.name()}]`;
  return { name: `\`${name}\``, facts: "", description: describe(argument) };
}

function optionEntry(option: Option): Entry {
  return {
    name: `\`${option.flags}\``,
    facts: option.envVar === undefined ? "" : `\`${option.envVar}\``,
    description: describe(option),
  };
}

/** The help text as a sentence, with the choices and the default. */
export function describe(one: Argument | Option): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = one;
  const mandatory = "mandatory" in one && one.mandatory;
  return [
    sentence(description),
    ...(argChoices && argChoices.length > 0
      ? [`One of ${argChoices.map((choice) => `\`${choice}\``).join(", ")}.`]
      : []),
    ...(mandatory ? ["Required."] : []),
    // The default of --no-x is that x is on, which the description says.
    ...(defaultValue === undefined || defaultValue === true
      ? []
      : [`Default: \`${defaultValueDescription ?? String(defaultValue)}\`.`]),
  ].join(" ");
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
