import type { Session } from "@patchbay/protocol/console";

/** The query that a snippet sends; `body` is the query API's request body. */
export interface SnippetQuery {
  baseUrl: string;
  agentId: string;
  /** The key to insert. Without it, snippets read the key from the environment. */
  apiKey?: string | undefined;
  body: Record<string, unknown> & { query: string };
}

export type SnippetLanguage = "curl" | "fetch" | "python";

/** The environment variable that snippets read the key from. */
export const KEY_VARIABLE = "PATCHBAY_API_KEY";

/** The same streamed query in each language. Omits undefined body properties. */
export function snippetsOf({ baseUrl, agentId, apiKey, body }: SnippetQuery): Record<SnippetLanguage, string> {
  const url = `${baseUrl}/agents/${encodeURIComponent(agentId)}/query-stream`;
  return { curl: curl(url, apiKey, body), fetch: fetchSnippet(url, apiKey, body), python: python(url, apiKey, body) };
}

function curl(url: string, apiKey: string | undefined, body: object): string {
  return [
    // -N: without it, curl buffers the events.
    `curl -N ${shellQuote(url)} \\`,
    `  -H ${apiKey === undefined ? `"X-API-Key: $${KEY_VARIABLE}"` : shellQuote(`X-API-Key: ${apiKey}`)} \\`,
    "  -H 'Content-Type: application/json' -H 'Accept: text/event-stream' \\",
    `  -d ${shellQuote(JSON.stringify(body))}`,
  ].join("\n");
}

function fetchSnippet(url: string, apiKey: string | undefined, body: object): string {
  const key = apiKey === undefined ? `process.env.${KEY_VARIABLE}` : JSON.stringify(apiKey);
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: {
    "X-API-Key": ${key},
    "Content-Type": "application/json",
    Accept: "text/event-stream",
  },
  body: JSON.stringify(${indent(JSON.stringify(body, null, 2), 2)}),
});
if (!response.ok) throw new Error(await response.text());

let text = "";
for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
  text += chunk;
  const blocks = text.split("\\n\\n");
  text = blocks.pop();
  for (const block of blocks) {
    const data = block.split("\\n").find((line) => line.startsWith("data: "));
    if (data) console.log(JSON.parse(data.slice(6)));
  }
}`;
}

function python(url: string, apiKey: string | undefined, body: object): string {
  const key = apiKey === undefined ? `os.environ["${KEY_VARIABLE}"]` : JSON.stringify(apiKey);
  return `import json${apiKey === undefined ? ", os" : ""}, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(${indent(pythonLiteral(body), 4)}).encode(),
    headers={
        "X-API-Key": ${key},
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
    },
)
with urllib.request.urlopen(request, timeout=300) as response:
    for line in response:
        if line.startswith(b"data: "):
            print(json.loads(line[6:]))`;
}

/** Quotes a text so that a POSIX shell reads it as one literal word. */
export const shellQuote = (text: string): string =>
  /^[A-Za-z0-9_./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** JSON with None, True and False. */
function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, property]) => property !== undefined);
  return `{${entries.map(([name, property]) => `${JSON.stringify(name)}: ${pythonLiteral(property)}`).join(", ")}}`;
}

const indent = (text: string, spaces: number): string => text.replaceAll("\n", `\n${" ".repeat(spaces)}`);

/**
 * The command in a service folder, which depends on the CLI. Elsewhere, npm would run another package with this name.
 */
export const CLI = "npx patchbay";

/** A service file with one function, to start from. */
export const FIRST_SERVICE = `import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";

const getOrder = defineFunction({
  name: "get_order",
  description: "Gets the status of an order.",
  input: z.object({ orderId: z.string().describe("Such as A-1001") }),
  roles: ["customer", "support"],
  handler: ({ orderId }) => ({ orderId, status: "shipped" }),
});

export default defineService({
  name: "shop",
  functions: [getOrder],
  exampleQueries: [{ query: "What is the status of order A-1001?", role: "support" }],
});
`;

export interface ConnectSnippet {
  baseUrl: string;
  agentId: string;
  /** The runtime key to insert. Without it, the command has a placeholder and the program reads the environment. */
  runtimeKey?: string | undefined;
}

/** Two ways to connect functions: the CLI, and `connect` in the owner's program. */
export function connectSnippetsOf({ baseUrl, agentId, runtimeKey }: ConnectSnippet): { cli: string; code: string } {
  const key = runtimeKey === undefined ? "process.env.PATCHBAY_RUNTIME_KEY" : JSON.stringify(runtimeKey);
  return {
    cli: [
      `PATCHBAY_RUNTIME_KEY=${shellQuote(runtimeKey ?? "patchbay_rt_...")} ${CLI} connect service.ts \\`,
      `  --url ${shellQuote(baseUrl)} \\`,
      `  --agent ${shellQuote(agentId)}`,
    ].join("\n"),
    code: `import { connect } from "@patchbay/functions";
import service from "./service.ts";

const runtime = connect(service, {
  url: ${JSON.stringify(baseUrl)},
  agentId: ${JSON.stringify(agentId)},
  key: ${key},
});
await runtime.ready;`,
  };
}

/** An operator command, with the option that names this service's database. */
export function operatorCommand(command: string, option: Session["databaseOption"]): string {
  if (option === null) return `${CLI} ${command}`;
  const value = option.value === null ? '"$PATCHBAY_DATABASE"' : shellQuote(option.value);
  return `${CLI} ${command} ${option.name} ${value}`;
}

/** A query to the local API, which only `patchbay dev` serves. */
export function localSnippetOf(baseUrl: string, accessToken: string | undefined): string {
  const header =
    accessToken === undefined
      ? '"Authorization: Bearer $PATCHBAY_TOKEN"'
      : shellQuote(`Authorization: Bearer ${accessToken}`);
  return [
    `curl -N ${shellQuote(`${baseUrl}/agent/query-stream`)} \\`,
    `  -H ${header} -H 'Content-Type: application/json' \\`,
    `  -d '{"query": "What can you do?"}'`,
  ].join("\n");
}

/** A call that the owner keeps as a case. */
export interface CaseOfCall {
  input: unknown;
  context: object;
  role: string | undefined;
}

/** A function's `cases` option with one call. Without a role, the case applies to every role. */
export function caseSnippet({ input, context, role }: CaseOfCall): string {
  const example = { input, ...(Object.keys(context).length > 0 && { context }), ...(role && { roles: [role] }) };
  return `cases: ${sourceOf({ [role ? `as ${role}` : "call"]: example })},`;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** A JSON value as TypeScript, as a formatter would print it. */
function sourceOf(value: unknown, before = ""): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = `${before}  `;
  if (Array.isArray(value)) {
    const flat = `[${value.map((item) => sourceOf(item, inner)).join(", ")}]`;
    if (flat.length <= 80 && !flat.includes("\n")) return flat;
    return `[\n${value.map((item) => `${inner}${sourceOf(item, inner)},\n`).join("")}${before}]`;
  }
  const lines = Object.entries(value).map(([name, item]) => `${inner}${propertyOf(name)}: ${sourceOf(item, inner)},\n`);
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${before}}`;
}

function propertyOf(name: string): string {
  // As a plain property, it would set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return IDENTIFIER.test(name) ? name : JSON.stringify(name);
}
