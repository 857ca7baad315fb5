import { MESSAGES } from "@patchbay/protocol";
import { STATUS_OF } from "@patchbay/server/kernel/errors";
import { type Documented, entriesOf } from "./doc-comments.ts";
import type { Section } from "./section.ts";

const CODES_FILE = "packages/protocol/src/codes.ts";
const HELP = (code: string) => `[\`${code}\`](../guides/troubleshooting.md#${code})`;

/** Every code that a client or a runtime receives, with the comment at its place in the protocol. */
export function codeSections(): Section[] {
  const columns = ["code", "status", "meaning"] as const;
  const section = (heading: string, codes: Documented[], facts: (code: string) => string): Section => ({
    heading,
    columns,
    entries: codes.map(({ name, description }) => ({ name: HELP(name), facts: facts(name), description })),
  });
  const http = entriesOf(CODES_FILE, "HTTP_ERROR_CODES");
  const ofConsole = entriesOf("packages/protocol/src/console/route.ts", "CONSOLE_ERROR_CODES");
  return [
    section("Codes of responses with a 4xx or 5xx status", http, statusOf),
    section(
      "Codes of runs without an answer",
      entriesOf(CODES_FILE, "RUN_ERROR_CODES"),
      () => "200, or an `error` event",
    ),
    section("Codes of failed function calls", entriesOf(CODES_FILE, "CALL_ERROR_CODES"), () => "in a call"),
    section("Codes of the console's API", ofConsole, statusOf),
    {
      heading: "Close codes of a runtime's connection",
      columns: ["close code", "name", "meaning"],
      entries: entriesOf(CODES_FILE, "CLOSE_CODES").map(({ name, type, description }) => ({
        name: `[${type}](../guides/troubleshooting.md#${type})`,
        facts: `\`${name}\``,
        description,
      })),
    },
    {
      heading: "Messages that clients may compare",
      columns: ["code", "message", "meaning"],
      entries: entriesOf(CODES_FILE, "MESSAGES").map(({ name, description }) => ({
        name: `\`${name}\``,
        facts: `\`${MESSAGES[name as keyof typeof MESSAGES]}\``,
        description,
      })),
    },
  ];
}

const statusOf = (code: string) => String(STATUS_OF[code as keyof typeof STATUS_OF]);
/** Every code that the troubleshooting page explains. */
export const allCodes = (): string[] => [
  ...new Set(
    codeSections()
      .slice(0, -1)
      .flatMap(({ entries }) => entries.map(({ name }) => /#([\w]+)\)/.exec(name)![1]!)),
  ),
];
