import type { ExampleQuery, FunctionManifest, Manifest } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import { oneLine, paint } from "../output.ts";
import { fields, table } from "../table.ts";
import { describeProvider } from "../serving.ts";
import type { DevCredentials } from "./credentials.ts";

export interface ReadyFacts {
  baseUrl: string;
  /** One-time sign-in link to the console. */
  consoleUrl: string;
  provider: string;
  manifest: Manifest;
}

/** What `dev` prints first for people when it is ready for queries: the link to open, without secrets besides it. */
export function readyBlock({ baseUrl, consoleUrl, provider, manifest }: ReadyFacts): string {
  const { name, functions, exampleQueries = [] } = manifest;
  const count = functions.length === 1 ? "1 function" : `${functions.length} functions`;
  return [
    `${paint("bold", "Open")} ${consoleUrl}`,
    "",
    fields([
      ["service", `${name}, ${count}, at ${baseUrl}`],
      ["model", describeProvider(provider)],
    ]),
    ...(exampleQueries.length > 0 ? ["", "Queries to try:", exampleList(exampleQueries)] : []),
  ].join("\n");
}

/** Example queries, numbered, with their roles. */
export function exampleList(examples: readonly ExampleQuery[]): string {
  return examples
    .map(({ query, role }, i) => {
      const as = role === undefined ? "" : paint("dim", `  as ${oneLine(role)}`);
      return `${String(i + 1).padStart(3)}  ${oneLine(query)}${as}`;
    })
    .join("\n");
}

/** The credentials, the functions, and how to query them. */
export function serviceDetails(baseUrl: string, credentials: DevCredentials, manifest: Manifest): string {
  const { agentId, apiKey, accessToken, runtimeKey } = credentials;
  return [
    fields([
      ["agent", agentId],
      ["API key", apiKey],
      ["access token", accessToken],
      ["runtime key", runtimeKey],
    ]),
    "",
    functionTable(manifest),
    "",
    ...curlLines(baseUrl, credentials, manifest.exampleQueries?.[0]),
    paint("dim", "# the same as shell variables"),
    `export BASE=${baseUrl} AGENT=${agentId} KEY=${apiKey} TOKEN=${accessToken}`,
  ].join("\n");
}

/** The connected functions with their roles, effects, arguments and, if any has one, approvals. */
export function functionTable({ functions }: Pick<Manifest, "functions">): string {
  const asks = functions.some(({ approval }) => approval !== undefined);
  const rows = functions.map((declared) => [
    declared.name,
    describeRoles(declared),
    declared.effect,
    ...(asks ? [describeApproval(declared)] : []),
    describeArguments(declared.inputSchema),
  ]);
  const names = ["function", "roles", "effect", ...(asks ? ["approval"] : []), "arguments"];
  return table(names, rows, "No functions are defined yet.");
}

function describeApproval({ approval }: FunctionManifest): string {
  if (approval === undefined) return "";
  return `by ${approval.by.join(", ")}${approval.conditional ? " (some calls)" : ""}`;
}

function describeRoles({ roles, conditional }: FunctionManifest): string {
  const names = roles === "everyone" ? roles : roles.join(", ") || "none";
  return conditional ? `${names} (if authorized)` : names;
}

function describeArguments({ properties, required }: JsonObject): string {
  if (typeof properties !== "object" || properties === null) return "";
  const needed = Array.isArray(required) ? required : [];
  return Object.keys(properties)
    .map((name) => (needed.includes(name) ? name : `${name}?`))
    .join(", ");
}

function curlLines(
  baseUrl: string,
  { agentId, apiKey, accessToken }: DevCredentials,
  { query, role, context }: ExampleQuery = { query: "What can you do?" },
): string[] {
  const json = `-H 'Content-Type: application/json'`;
  const bodyOf = (body: object) => `-d ${shellWord(JSON.stringify(body))}`;
  const body = bodyOf({ query, role, ...(context && { contextJson: JSON.stringify(context) }) });
  return [
    paint("dim", "# one answer"),
    `curl ${baseUrl}/agents/${agentId}/query -H 'X-API-Key: ${apiKey}' ${json} ${body}`,
    paint("dim", "# the same as a stream of events"),
    `curl -N ${baseUrl}/agents/${agentId}/query-stream -H 'X-API-Key: ${apiKey}' -H 'Accept: text/event-stream' ${json} ${body}`,
    paint("dim", "# the local variant of the stream"),
    `curl -N ${baseUrl}/agent/query-stream -H 'Authorization: Bearer ${accessToken}' ${json} ${bodyOf({ query, role, context })}`,
  ];
}

const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
