import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** The revisions in which a client of the SDK can speak: with the handshake of 2025, or of 2026-07-28. */
export type Era = "2025" | "2026";

/** Connects a client of the official SDK to the MCP endpoint of an agent. */
export async function mcpClient(
  { url, agentId, apiKey }: { url: string; agentId: string; apiKey: string },
  options: {
    era?: Era;
    headers?: Record<string, string>;
    expose?: string;
    client?: ConstructorParameters<typeof Client>[1];
  } = {},
): Promise<Client & AsyncDisposable> {
  const { era = "2026", headers = {}, expose, client: more } = options;
  const address = new URL(`${url}/agents/${agentId}/mcp${expose === undefined ? "" : `?expose=${expose}`}`);
  const transport = new StreamableHTTPClientTransport(address, {
    requestInit: { headers: { authorization: `Bearer ${apiKey}`, ...headers } },
  });
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: era === "2025" ? "legacy" : { pin: "2026-07-28" } }, ...more },
  );
  await client.connect(transport);
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
