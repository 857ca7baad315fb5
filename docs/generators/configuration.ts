import { DEFAULT_LIMITS, OperatorLimits } from "@patchbay/protocol";
import { commands, describe } from "./cli.ts";
import { entriesOf } from "./doc-comments.ts";
import type { Entry, Section } from "./section.ts";

const LIMITS_FILE = "packages/protocol/src/limits.ts";

/** The variables that are not options, with what reads them. `packages/cli/src/config.ts` and the commands read them. */
const VARIABLES: Readonly<Record<string, { readBy: string; description: string }>> = {
  ANTHROPIC_API_KEY: {
    readBy: "`serve`, `dev`",
    description: "Key of Anthropic's API. Without it, queries cannot use Claude.",
  },
  ANTHROPIC_BASE_URL: {
    readBy: "`serve`, `dev`",
    description:
      "http:// or https:// address in place of Anthropic's, such as that of a gateway. Another address ends the command.",
  },
  OPENAI_API_KEY: {
    readBy: "`serve`, `dev`",
    description: "Key of OpenAI's API. Without it and without `OPENAI_BASE_URL`, queries cannot use OpenAI.",
  },
  OPENAI_BASE_URL: {
    readBy: "`serve`, `dev`",
    description:
      "http:// or https:// address of a compatible server, which may need no key. Another address ends the command.",
  },
  OPENAI_API: {
    readBy: "`serve`, `dev`",
    description:
      "API of OpenAI or of the compatible server: `responses` or `chat`. Default: `responses`, and `chat` if `OPENAI_BASE_URL` is set.",
  },
  GEMINI_API_KEY: {
    readBy: "`serve`, `dev`",
    description: "Key of Google's Gemini API. Without it, queries cannot use Gemini.",
  },
  GEMINI_BASE_URL: {
    readBy: "`serve`, `dev`",
    description: "http:// or https:// address in place of Google's. Another address ends the command.",
  },
  PATCHBAY_PROVIDER: {
    readBy: "`serve`, `dev`",
    description:
      "Provider of queries and agents that name none: `anthropic`, `openai`, `gemini` or `offline`. Default: the first of these with a key; without any key, `dev` uses `offline` and queries of `serve` fail with `provider_not_configured`.",
  },
  PATCHBAY_MODEL: {
    readBy: "`serve`, `dev`",
    description:
      "Model of the default provider: 1 to 200 letters, digits and `._:@/-`. Default: the default model of the provider. Another name ends the command.",
  },
  PATCHBAY_KEY: {
    readBy: "`connect`, `query`, `doctor`",
    description:
      "Deprecated: the key if neither `--key` nor `PATCHBAY_RUNTIME_KEY` (`connect`) or `PATCHBAY_API_KEY` (`query`, `doctor`) is set. The command then writes a warning.",
  },
  PATCHBAY_FLOW_KEY: {
    readBy: "`connect`, `dev`",
    description:
      "Flow keys of a service with data-flow rules, the newest first, one in each line. Default: none; a new one in `dev`. Usually given as `PATCHBAY_FLOW_KEY_FILE`.",
  },
  PATCHBAY_LOG: {
    readBy: "`serve`, `dev`, `connect`",
    description:
      "Least important log lines that are written: `debug`, `info`, `warn` or `error`. Default: `info`; `warn` in `dev`. Any other value counts as absent.",
  },
};

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
