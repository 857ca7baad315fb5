import { isJsonObject, type JsonObject, type JsonValue, wireName } from "@patchbay/protocol";
import type { Fixture } from "../fixture.ts";
import type { Target, TriedRole } from "../targets.ts";
import { type Attack, contextHeader, fitsDoor, higherRoles, withClaims } from "./attack.ts";

const PATH = "/mcp";
const REVISION = "2026-07-28";
const UNKNOWN = "no_such_function";
const APPROVAL = "patchbay/approvalId";

interface Sent {
  method: "tools/list" | "tools/call";
  params?: JsonObject;
  /** Speaks the revision 2026-07-28. Default: those of 2025. */
  modern?: boolean;
  context?: JsonObject;
  headers?: Record<string, string>;
}

/** The result or the error of one request; undefined when HTTP refused it. */
interface Reply {
  result?: JsonObject;
  error?: JsonValue;
}

/** Sends requests of one role to the endpoint of MCP. */
function mcpClient(fixture: Fixture, key: string) {
  return async ({ method, params = {}, modern = false, context, headers }: Sent): Promise<Reply | undefined> => {
    const _meta: JsonObject = {
      ...(isJsonObject(params["_meta"]) && params["_meta"]),
      ...(modern && {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": { elicitation: {} },
      }),
    };
    const { name } = params;
    const response = await fixture.server.client.request(PATH, {
      key,
      body: { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } },
      headers: {
        accept: "application/json, text/event-stream",
        ...(context && contextHeader(context)),
        ...(modern && { "mcp-protocol-version": REVISION, "mcp-method": method }),
        ...(modern && typeof name === "string" && { "mcp-name": name }),
        ...headers,
      },
    });
    const text = await response.text();
    if (response.status !== 200) return undefined;
    const message = text.startsWith("{") ? text : text.split("\n").findLast((line) => line.startsWith("data: "))!;
    return JSON.parse(message.replace(/^data: /, "")) as Reply;
  };
}

/** A key that is pinned to the role. Without a role, a pinned key would give its own. */
const keyOf = (fixture: Fixture, { effective }: TriedRole): string | Promise<string> =>
  effective === undefined ? fixture.server.apiKey : fixture.keyFor(effective);

/** Headers that claim a role. A key without a pin may state any role, so for a role that has none nothing is forged. */
function forgedHeaders({ effective }: TriedRole, claimed: string): Record<string, string> {
  if (effective === undefined) return {};
  return { "X-Patchbay-Role": claimed, "X-Role": claimed, "Mcp-Session-Id": claimed };
}

const claimedBy = (fixture: Fixture, role: TriedRole): string =>
  higherRoles(fixture, role)[0]?.stated ?? role.stated ?? "admin";

/** Lists tools in all revisions, also with headers that claim another role. */
const toolLists: Attack = {
  name: "lists of MCP",
  risks: ["ASI03"],
  async run(fixture, role, attack) {
    const send = mcpClient(fixture, await keyOf(fixture, role));
    const { functions } = fixture.service.manifest;
    const listed = functions.filter(({ name }) => fixture.rules.isListed(name, role.effective));
    const visible = new Set(listed.map(({ name }) => wireName(name)));
    for (const modern of [false, true])
      for (const headers of [{}, forgedHeaders(role, claimedBy(fixture, role))]) {
        const reply = await send({ method: "tools/list", modern, headers });
        fixture.count({ attack, role }, 1);
        const tools = reply?.result?.["tools"];
        if (!Array.isArray(tools)) {
          fixture.report({ attack, role }, "failed", "a list of tools was refused, so it proves nothing");
          continue;
        }
        for (const { name } of tools as { name: string }[]) {
          if (!visible.has(name) && !visible.has(name.replace(/_\d+$/, "")))
            fixture.report({ attack, role }, "shown", `the list of MCP has ${name}`);
        }
      }
  },
};

/** Calls tools by all names, with claims of another role in the request, in its headers, and with an `Mcp-Name` of another tool. */
const toolCalls: Attack = {
  name: "calls of MCP",
  risks: ["ASI02", "ASI03"],
  async run(fixture, role, attack) {
    const send = mcpClient(fixture, await keyOf(fixture, role));
    const claimed = claimedBy(fixture, role);
    const { permitted, hidden, refused } = fixture.targets(role);
    const forged = forgedHeaders(role, claimed);
    const call = ({ functionName, input, context }: Target, more: Omit<Sent, "method"> = {}) => {
      const params = { name: wireName(functionName), arguments: input, ...more.params };
      return send({ method: "tools/call", context, ...more, params });
    };
    await fixture.series({ attack, role }, async () => {
      const received: (Reply | undefined)[] = [];
      for (const target of permitted.filter(fitsDoor)) {
        const reply = await call(target);
        if (!reply?.result)
          fixture.report({ attack, role }, "failed", `a call of ${target.functionName} failed, so it proves nothing`);
        received.push(reply, await confirm(target, reply));
        fixture.count({ attack, role }, 2);
      }
      for (const target of [...hidden, ...refused].filter(fitsDoor)) {
        const params = withClaims({ _meta: withClaims({}, claimed) }, claimed);
        const names = [permitted[0]?.functionName ?? UNKNOWN, UNKNOWN].map((name) => ({ "mcp-name": wireName(name) }));
        received.push(await call(target), await call(target, { params, headers: forged }));
        received.push(await call(target, { params, headers: forged, modern: true }));
        for (const headers of names) received.push(await call(target, { headers, modern: true }));
        fixture.count({ attack, role }, 5);
      }
      for (const target of hidden.filter(fitsDoor)) await compare(target);
      return received;
    });

    /** Sends the confirmation of a call that waits, which this key may not give. */
    async function confirm(target: Target, reply: Reply | undefined): Promise<Reply | undefined> {
      const meta = reply?.result?.["_meta"];
      const approvalId = isJsonObject(meta) ? meta[APPROVAL] : undefined;
      if (typeof approvalId !== "string") return undefined;
      const inputResponses = { [approvalId]: { action: "accept", content: {} } };
      const again = await call(target, { params: { inputResponses, requestState: approvalId }, modern: true });
      if (!JSON.stringify(again ?? {}).includes(APPROVAL) && again?.result)
        fixture.report({ attack, role }, "accepted", `a key without the right confirmed ${target.functionName}`);
      return again;
    }

    /** A hidden function must be answered like one that does not exist. */
    async function compare(target: Target): Promise<void> {
      const shown = JSON.stringify((await call(target))?.error);
      const unknown = JSON.stringify((await call({ ...target, functionName: UNKNOWN }))?.error);
      if (shown !== unknown?.replaceAll(UNKNOWN, wireName(target.functionName)))
        fixture.report({ attack, role }, "shown", `MCP answers a call of ${target.functionName} unlike an unknown one`);
      fixture.count({ attack, role }, 1);
    }
  },
};

export const mcpAttacks: Attack[] = [toolLists, toolCalls];
