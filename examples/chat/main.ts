import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import desk from "@patchbay-examples/retail-desk";
import { createControlPlane } from "@patchbay/control-plane";
import { connect } from "@patchbay/functions";
import { config } from "./config.ts";
import { createChatServer } from "./server.ts";

// In production, the control plane, the desk's runtime and the server of the page are three processes.
const { anthropicKey } = config;
const plane = await createControlPlane({
  database: "sqlite::memory:",
  port: 0,
  providers: anthropicKey === undefined ? { offline: true } : { anthropic: { apiKey: anthropicKey } },
});
const { agentId, apiKey } = await plane.admin.createAgent("Retail desk");
const approver = await plane.admin.createKey({ agentId, roles: ["agent", "manager"], can: ["approve"] });
const { runtimeKey } = await plane.admin.createRuntimeKey({ agentId });
await connect(desk, { url: plane.url, agentId, key: runtimeKey }).ready;

const page = fileURLToPath(new URL("dist", import.meta.url));
const app = createChatServer({ url: plane.url, agent: agentId, key: apiKey, approverKey: approver.apiKey, page });
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: config.port }, ({ port }) =>
  console.log(`The chat is at http://127.0.0.1:${port}`),
);
