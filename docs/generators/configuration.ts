import { DEFAULT_LIMITS, OperatorLimits } from "@patchbay/protocol";
import { VARIABLES } from "../../packages/cli/src/config.ts";
import { commands, describe } from "./cli.ts";
import { entriesOf } from "./doc-comments.ts";
import type { Entry, Section } from "./section.ts";

const LIMITS_FILE = "packages/protocol/src/limits.ts";

/** The variables of the models and the log, and those of the options, with the commands that read them. */
export function variableSections(): Section[] {
  const columns = ["variable", "read by", "meaning"] as const;
  const own = Object.entries(VARIABLES).map(([name, { description, readBy }]): Entry => {
    return { name: `\`${name}\``, facts: readBy, description };
  });
  return [
    { heading: "Models and logs", columns, entries: own },
    { heading: "Options", columns, entries: optionVariables() },
  ];
}

function optionVariables(): Entry[] {
  const byName = new Map<string, { readers: string[]; description: string }>();
  for (const { path, command } of commands())
    for (const option of command.options) {
      if (option.envVar === undefined || option.hidden) continue;
      const known = byName.get(option.envVar) ?? { readers: [], description: describe(option) };
      known.readers.push(path);
      byName.set(option.envVar, known);
    }
  return [...byName]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, { readers, description }]) => ({
      name: `\`${name}\``,
      facts: readers.length > MANY ? `${readers.length} commands` : readers.map((reader) => `\`${reader}\``).join(", "),
      description: `\`${flagOf(name)}\`: ${description}`,
    }));
}

const MANY = 4;
const flagOf = (variable: string) => `--${variable.replace("PATCHBAY_", "").toLowerCase().replaceAll("_", "-")}`;

/** The limits that an operator may change, and those that are fixed. */
export function limitSections(): Section[] {
  const columns = ["limit", "value", "meaning"] as const;
  const shown = (value: number) => value.toLocaleString("en-US");
  const changeable = Object.entries(OperatorLimits.shape).map(([name, schema]): Entry => {
    return {
      name: `\`${name}\``,
      facts: shown(DEFAULT_LIMITS[name as keyof OperatorLimits]),
      description: schema.description ?? "",
    };
  });
  const fixed = entriesOf(LIMITS_FILE, "LIMITS").map(({ name, type, description }): Entry => {
    return { name: `\`${name}\``, facts: shown(Number(type.replaceAll("_", ""))), description };
  });
  return [
    { heading: "Limits that an operator may change", columns, entries: changeable },
    { heading: "Fixed limits", columns, entries: fixed },
  ];
}
