import { CALLER, wireName } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Fixture } from "../fixture.ts";
import type { Label } from "../judge.ts";
import type { Target, TriedRole } from "../targets.ts";
import { ruleOf } from "./approvals.ts";
import { type Attack, contextHeader, withClaims } from "./attack.ts";
import { callsOf, callsOfPages, claimedBy, type AdapterOf, everyCall, otherRoles, pagesOf } from "./adapters.ts";

const PATH = "/mcp";
const REVISION = "2026-07-28";
const UNKNOWN = "no_such_function";
/** The tool that accepts whole queries. The suite's agent is named "Test". */
const ASK = "ask_test";
const APPROVAL = "patchbay/approvalId";

interface Sent {
  method: "tools/list" | "tools/call";
  params?: JsonObject;
  /** Speaks the revision 2026-07-28. Default: the 2025 revisions. */
  modern?: boolean;
  headers?: Record<string, string>;
  /** What are tools. Default: the functions. */
  expose?: "agent" | "both";
}

/** One request's result or error; undefined when HTTP refused it. */
interface Reply {
  result?: JsonObject;
  error?: JsonValue;
}

function requestOf({ method, params = {}, modern = false, headers }: Sent) {
  const _meta: JsonObject = {
    ...(isJsonObject(params["_meta"]) && params["_meta"]),
    ...(modern && {
      "io.modelcontextprotocol/protocolVersion": REVISION,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
    }),
  };
  const { name } = params;
  return {
    body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
    headers: {
      accept: "application/json, text/event-stream",
      ...(modern && { "mcp-protocol-version": REVISION, "mcp-method": method }),
      ...(modern && typeof name === "string" && { "mcp-name": name }),
      ...headers,
    },
  };
}

/** A client with the role, in one context. */
interface McpClient {
  context: JsonObject;
  /** The calls that are tried in the context. */
  targets: Target[];
  send(sent: Sent): Promise<Reply | undefined>;
  /** Headers that claim another role. */
  forged: Record<string, string>;
  /** True if it may confirm its own calls where an approval names the caller. */
  confirms: boolean;
}

/** The clients that attack as a role, one for each context in its calls. */
type ClientsOf = (fixture: Fixture, role: TriedRole) => Promise<McpClient[]>;

function sender({ server }: Fixture, key: string, own: Record<string, string>): McpClient["send"] {
  return async ({ expose = "functions", ...sent }) => {
    const request = requestOf({ ...sent, headers: { ...own, ...sent.headers } });
    const response = await server.client.request(`${PATH}?expose=${expose}`, { key, ...request });
    const text = await response.text();
    if (response.status !== 200) return undefined;
    const message = text.startsWith("{") ? text : text.split("\n").findLast((line) => line.startsWith("data: "))!;
    return JSON.parse(message.replace(/^data: /, "")) as Reply;
  };
}

/** Clients with a key that is pinned to the role. */
const withKey: ClientsOf = async (fixture, role) => {
  const { effective } = role;
  const claimed = claimedBy(fixture, role);
  // Without a role, a pinned key would give its own, and a key without a pin may state any role: nothing is forged
  // then. The role header is for `otherRoles`: a header that contradicts the pin is refused.
  const key = effective === undefined ? fixture.server.apiKey : await fixture.keyFor(effective);
  const forged: Record<string, string> =
    effective === undefined ? {} : { "X-Role": claimed, "Mcp-Session-Id": claimed };
  // The first one has no context and lists only.
  return [{ context: {}, targets: [] }, ...callsOf(fixture, role)].map(({ context, targets }) => {
    return { context, targets, forged, confirms: false, send: sender(fixture, key, contextHeader(context)) };
  });
};

/** Pages with client tokens, whose headers always claim another role and context. */
const withToken: ClientsOf = async (fixture, role) =>
  (await pagesOf(fixture, role)).map(({ context, targets, headers }) => {
    return { context, targets, forged: {}, confirms: true, send: sender(fixture, "", headers) };
  });

/** Lists tools in all revisions, also with headers that claim another role. */
const listTools =
  (clientsOf: ClientsOf): Attack["run"] =>
  async (fixture, role, label) => {
    const { functions } = fixture.service.manifest;
    const listed = functions.filter(({ name }) => fixture.rules.isListed(name, role.effective));
    const visible = new Set([ASK, ...listed.map(({ name }) => wireName(name))]);
    const [client] = await clientsOf(fixture, role);
    if (!client) return;
    for (const modern of [false, true])
      for (const headers of [{}, client.forged])
        for (const more of [{}, { expose: "agent" }, { expose: "both" }] as const) {
          const reply = await client.send({ method: "tools/list", modern, headers, ...more });
          fixture.count(label, 1);
          const tools = reply?.result?.["tools"];
          if (!Array.isArray(tools)) {
            fixture.report(label, "failed", "a list of tools was refused, so it proves nothing");
            continue;
          }
          for (const { name } of tools as { name: string }[]) {
            if (!visible.has(name) && !visible.has(name.replace(/_\d+$/, "")))
              fixture.report(label, "shown", `the list of MCP has ${name}`);
          }
        }
  };

/** Calls tools by all names, with another role claimed in the request and its headers, and with another tool's `Mcp-Name`. */
const callTools =
  (clientsOf: ClientsOf): Attack["run"] =>
  async (fixture, role, label) => {
    for (const client of await clientsOf(fixture, role))
      await fixture.series({ ...label, context: client.context }, () => callsOfClient(fixture, client, label));
  };

async function callsOfClient(
  fixture: Fixture,
  { targets, send, forged, confirms }: McpClient,
  label: Label,
): Promise<unknown[]> {
  const { permitted, hidden } = fixture.targets(label.role);
  const claimed = claimedBy(fixture, label.role);
  const received: (Reply | undefined)[] = [];
  const call = ({ functionName, input }: Target, more: Omit<Sent, "method"> = {}) => {
    const params = { name: wireName(functionName), arguments: input, ...more.params };
    return send({ method: "tools/call", ...more, params });
  };

  for (const target of targets)
    if (permitted.includes(target)) {
      const reply = await call(target);
      if (!reply?.result)
        fixture.report(label, "failed", `a call of ${target.functionName} failed, so it proves nothing`);
      received.push(reply, ...(await confirm(target, reply)));
      fixture.count(label, 5);
    } else {
      const params = withClaims({ _meta: withClaims({}, claimed) }, claimed);
      const names = [permitted[0]?.functionName ?? UNKNOWN, UNKNOWN].map((name) => ({ "mcp-name": wireName(name) }));
      received.push(await call(target), await call(target, { params, headers: forged }));
      received.push(await call(target, { params, headers: forged, modern: true }));
      for (const headers of names) received.push(await call(target, { headers, modern: true }));
      fixture.count(label, 5);
      if (hidden.includes(target)) await compare(target);
    }
  return received;

  /** Confirms a call that waits: before its user was asked, with a made-up state, and in reply to the question. */
  async function confirm(target: Target, reply: Reply | undefined): Promise<(Reply | undefined)[]> {
    const meta = reply?.result?.["_meta"];
    const approvalId = isJsonObject(meta) ? meta[APPROVAL] : undefined;
    if (typeof approvalId !== "string") return [];
    const inputResponses = { [approvalId]: { action: "accept", content: {} } };
    const answer = (state: JsonObject) => call(target, { params: { inputResponses, ...state }, modern: true });
    const unasked = [await answer({}), await answer({ requestState: approvalId })];
    const { requestState, inputRequests } = (await call(target, { modern: true }))?.result ?? {};
    const [asked = approvalId] = Object.keys(isJsonObject(inputRequests) ? inputRequests : {});
    const params = {
      inputResponses: { [asked]: { action: "accept", content: {} } },
      requestState: requestState ?? asked,
    };
    const answered = await call(target, { params, modern: true });
    const mayConfirm = confirms && ruleOf(fixture, target).by.includes(CALLER);
    if (unasked.some(hasRun) || (!mayConfirm && hasRun(answered)))
      fixture.report(label, "accepted", `a client without the right confirmed ${target.functionName}`);
    return [...unasked, answered];
  }

  /** A hidden function and a missing one must get the same answer. */
  async function compare(target: Target): Promise<void> {
    const shown = JSON.stringify((await call(target))?.error);
    const unknown = JSON.stringify((await call({ ...target, functionName: UNKNOWN }))?.error);
    if (shown !== unknown?.replaceAll(UNKNOWN, wireName(target.functionName)))
      fixture.report(label, "shown", `MCP answers a call of ${target.functionName} unlike an unknown one`);
    fixture.count(label, 1);
  }
}

/** True for a call's outcome after or without an approval. */
const hasRun = (reply: Reply | undefined): boolean =>
  reply?.result !== undefined &&
  reply.result["resultType"] !== "input_required" &&
  !JSON.stringify(reply.result).includes(APPROVAL);

/** The tool for whole queries, so that a model reads the client's claims. */
const askAdapter: AdapterOf = (_fixture, { claimed, headers }) => ({
  path: `${PATH}?expose=agent`,
  answersAtEnd: true,
  request({ query, context }) {
    const params = { name: ASK, arguments: withClaims({ query }, claimed), _meta: withClaims({}, claimed) };
    return requestOf({
      method: "tools/call",
      modern: true,
      params: withClaims(params, claimed),
      headers: { ...contextHeader(context), ...headers },
    });
  },
});

/** Lists, calls and queries from pages with client tokens. */
const clientTokens: Attack = {
  name: "client tokens of MCP",
  risks: ["ASI02", "ASI03"],
  async run(...attacked) {
    for (const run of [listTools(withToken), callTools(withToken), callsOfPages(askAdapter)]) await run(...attacked);
  },
};

export const mcpAttacks: Attack[] = [
  { name: "lists of MCP", risks: ["ASI03"], run: listTools(withKey) },
  { name: "calls of MCP", risks: ["ASI02", "ASI03"], run: callTools(withKey) },
  everyCall("queries of MCP", ["ASI02", "ASI03"], askAdapter),
  clientTokens,
  otherRoles("roles of MCP", askAdapter),
];
