import type { FunctionManifest, JsonObject, Manifest } from "@patchbay/protocol";
import { paint } from "../output.ts";
import { fields, table } from "../table.ts";
import { describeProvider } from "../serving.ts";
import type { DevCredentials } from "./credentials.ts";

interface ReadyFacts {
  baseUrl: string;
  /** One-time sign-in link to the console. */
  consoleUrl: string;
  provider: string;
  credentials: DevCredentials;
  manifest: Manifest;
  file: string;
  watching: boolean;
}

/** What `dev` prints for people when it is ready for queries. */
export function readyBlock(facts: ReadyFacts): string {
  const { baseUrl, consoleUrl, provider, credentials, manifest, file, watching } = facts;
  return [
    paint("bold", `Patchbay is ready at ${baseUrl}`),
    "",
    fields([
      ["console", consoleUrl],
      ["agent", credentials.agentId],
      ["API key", credentials.apiKey],
      ["access token", credentials.accessToken],
      ["runtime key", credentials.runtimeKey],
      ["model", describeProvider(provider)],
    ]),
    "",
    functionTable(manifest),
    "",
    ...curlLines(baseUrl, credentials),
    paint("dim", "# the same as shell variables"),
    `export BASE=${baseUrl} AGENT=${credentials.agentId} KEY=${credentials.apiKey} TOKEN=${credentials.accessToken}`,
    "",
    paint("dim", watching ? `Watching ${file}: saved changes take effect immediately. Ctrl-C stops.` : "Ctrl-C stops."),
  ].join("\n");
}

/** The connected functions with their roles, effects and arguments. */
function functionTable({ functions }: Manifest): string {
  const rows = functions.map((one) => [one.name, describeRoles(one), one.effect, describeArguments(one.inputSchema)]);
  return table(["function", "roles", "effect", "arguments"], rows, "No functions are defined yet.");
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

function curlLines(baseUrl: string, { agentId, apiKey, accessToken }: DevCredentials): string[] {
  const json = `-H 'Content-Type: application/json'`;
  const body = `-d '{"query": "What can you do?"}'`;
  return [
    paint("dim", "# one answer"),
    `curl ${baseUrl}/agents/${agentId}/query -H 'X-API-Key: ${apiKey}' ${json} ${body}`,
    paint("dim", "# the same as a stream of events"),
    `curl -N ${baseUrl}/agents/${agentId}/query-stream -H 'X-API-Key: ${apiKey}' -H 'Accept: text/event-stream' ${json} ${body}`,
    paint("dim", "# the local variant of the stream"),
    `curl -N ${baseUrl}/agent/query-stream -H 'Authorization: Bearer ${accessToken}' ${json} ${body}`,
  ];
}
