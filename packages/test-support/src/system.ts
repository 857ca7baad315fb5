import { startControlPlane, type StartedControlPlane } from "@patchbay/control-plane/admin";
import type { ControlPlaneOptions } from "@patchbay/control-plane";
import { connect, silentLog, type Connection, type ConnectOptions, type Service } from "@patchbay/functions";
import type { QueryResponse } from "@patchbay/protocol";
import { parseSse } from "./sse.ts";

export interface SystemOptions extends Partial<ControlPlaneOptions> {
  /** The service to connect. Default: none. */
  service?: Service;
  /** Default sandbox. */
  tier?: string;
  instructions?: string;
  /** Of the connected service. */
  reportErrors?: boolean;
  reportCases?: boolean;
}

/** Starts a control plane and a runtime in this process, connected by real sockets, with an agent and its keys. */
export async function startSystem(options: SystemOptions = {}) {
  const { service, tier = "sandbox", instructions = "", reportErrors = false, reportCases = false, ...rest } = options;
  const plane = await startControlPlane({
    database: "sqlite::memory:",
    port: 0,
    local: true,
    providers: { offline: true },
    log: silentLog,
    ...rest,
  });
  const { orgId } = await plane.admin.createOrg("Test", tier);
  const { agentId, apiKey, keyId } = await plane.admin.createAgent("Desk", { orgId, instructions });
  const { runtimeKey } = await plane.admin.createRuntimeKey({ agentId });
  const { accessToken } = await plane.admin.createToken({ agentId });
  const keys = { orgId, agentId, keyId, apiKey, runtimeKey, accessToken };
  const connections: Connection[] = [];
  if (service) await attach(service, { reportErrors, reportCases });

  async function attach(
    owner: Service,
    more: Pick<
      ConnectOptions,
      "accessLock" | "concurrency" | "deployment" | "flowKeys" | "log" | "reportErrors" | "reportCases" | "shadow"
    > = {},
  ): Promise<Connection> {
    const connection = connect(owner, { url: plane.url, agentId, key: runtimeKey, log: silentLog, ...more });
    connections.push(connection);
    await connection.ready;
    return connection;
  }

  return {
    plane,
    ...client(plane, keys),
    ...keys,
    connect: attach,
    async [Symbol.asyncDispose]() {
      await Promise.all(connections.map((connection) => connection.stop({ drainMs: 0 })));
      await plane.close({ graceMs: 0 });
    },
  };
}

interface Keys {
  agentId: string;
  apiKey: string;
  accessToken: string;
}

/** An HTTP client of a running service. */
export function client({ url }: Pick<StartedControlPlane, "url">, { agentId, apiKey, accessToken }: Keys) {
  const headers = { "content-type": "application/json", "x-api-key": apiKey };

  function post(path: string, body: unknown, more: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return fetch(`${url}${path}`, { method: "POST", headers: { ...headers, ...more }, body: text });
  }

  return {
    url,
    post,
    get: (path: string, more: Record<string, string> = {}) =>
      fetch(`${url}${path}`, { headers: { ...headers, ...more } }),

    /** Endpoint 1, answered with 200. */
    async query(query: string, body: object = {}, more: Record<string, string> = {}): Promise<QueryResponse> {
      const response = await post(`/agents/${agentId}/query`, { query, ...body }, more);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
      return JSON.parse(text) as QueryResponse;
    },

    /** Endpoint 2, read to its end. */
    async stream(query: string, body: object = {}, more: Record<string, string> = {}) {
      const response = await post(
        `/agents/${agentId}/query-stream`,
        { query, ...body },
        { accept: "text/event-stream", ...more },
      );
      const text = await response.text();
      if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
      return { text, headers: response.headers, events: parseSse(text) };
    },

    /** Endpoint 3, read to its end. `rewrite` changes the text of the body, for JSON that no JavaScript object produces. */
    async local(query: string, body: object = {}, rewrite = (text: string) => text) {
      const response = await fetch(`${url}/agent/query-stream`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${accessToken}` },
        body: rewrite(JSON.stringify({ query, ...body })),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
      return {
        text,
        headers: response.headers,
        events: parseSse<{ type: string; data: Record<string, unknown> }>(text),
      };
    },
  };
}
