import { expect, test } from "vitest";
import { type Era, mcpClient } from "@patchbay/test-support/mcp-client";
import { startDesk } from "../support/mcp-desk.ts";

const ERAS = ["2025", "2026"] as const satisfies readonly Era[];

const SECRETS = ["key", "client token"] as const;

test.each(ERAS.flatMap((era) => SECRETS.map((secret) => [era, secret] as const)))(
  "the response to a call of %s with a %s ends soon after its key is revoked, and the run continues",
  async (era, secret) => {
    await using system = await startDesk();
    const { admin, store } = system.plane;
    const key = await admin.createKey({ agentId: system.agentId });
    const made = await system.post(
      `/agents/${system.agentId}/client-tokens`,
      { role: "clerk", allow: ["mcp"], expiresInSeconds: 600 },
      { "x-api-key": key.apiKey },
    );
    const { token } = (await made.json()) as { token: string };
    const apiKey = secret === "key" ? key.apiKey : token;
    await using client = await mcpClient(
      { ...system, apiKey },
      { era, headers: secret === "key" ? { "x-patchbay-role": "clerk" } : {} },
    );
    const call = client.callTool({ name: "slow", arguments: {} });
    const signal = await system.started;

    await admin.credentials.revoke("api", key.keyId);

    await expect(call).rejects.toThrow("Authentication failed");
    expect(signal.aborted).toBe(false);
    expect(await store.runs.list(system.agentId, { limit: 9 })).toMatchObject([{ status: "running" }]);
  },
);
