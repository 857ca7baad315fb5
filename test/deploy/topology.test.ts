import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runCommand, startCommand, type Running } from "../../packages/cli/test/support/command.ts";
import { testNats } from "@patchbay/test-support/nats";
import { hasNginx, startNginx } from "../support/nginx.ts";
import { testDatabase } from "@patchbay/test-support/postgres";
import { deliveredOrder } from "../support/retail.ts";
import { parseSse } from "@patchbay/test-support/sse";
import { client } from "@patchbay/test-support/system";

const READY = /^\{"ready".*\}$/m;
const DESK = fileURLToPath(new URL("../../examples/retail-desk/service.ts", import.meta.url));
const STATUS = `What is the status of order ${deliveredOrder.orderId}?`;
const nats = await testNats();

/** The processes of the compose file, started by hand: two replicas with Postgres and NATS behind nginx, and the retail desk. */
async function startTopology(natsUrl: string) {
  await using opening = new AsyncDisposableStack();
  const database = opening.use(await testDatabase());

  async function admin(...args: string[]): Promise<Record<string, string>> {
    const { code, stdout, stderr } = await runCommand([...args, "--database", database.url, "--json"]);
    if (code !== 0) throw new Error(`${args.join(" ")} exited with ${code}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, string>;
  }
  async function start(args: string[], env: Record<string, string>): Promise<{ command: Running; said: string }> {
    const command = opening.use(startCommand([...args, "--json"], { env }));
    return { command, said: await command.seen(READY) };
  }
  async function replica() {
    const { command, said } = await start(["serve", "--port", "0"], {
      PATCHBAY_DATABASE: database.url,
      PATCHBAY_NATS: natsUrl,
      PATCHBAY_PROVIDER: "offline",
      PATCHBAY_TRUST_PROXY: "1",
    });
    return { command, url: (JSON.parse(said) as { baseUrl: string }).baseUrl };
  }

  const { agentId = "", apiKey = "", keyId = "" } = await admin("agents", "create", "Desk");
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const replicas = [await replica(), await replica()] as const;
  const nginx = opening.use(await startNginx({ replicas: replicas.map(({ url }) => Number(new URL(url).port)) }));
  const keys = { agentId, apiKey, accessToken: "" };
  await start(["connect", DESK, "--url", nginx.url, "--agent", agentId], { PATCHBAY_RUNTIME_KEY: runtimeKey });

  const opened = opening.move();
  return {
    ...client(nginx, keys),
    nginx,
    admin,
    agentId,
    keyId,
    replicas: replicas.map(({ command, url }) => ({ ...client({ url }, keys), command })),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

describe.runIf(nats !== undefined && hasNginx())("two replicas on Postgres and NATS behind nginx", () => {
  test("serve the retail desk, follow each other's runs, and survive each other", async () => {
    await using topology = await startTopology(nats!);
    const { agentId, nginx } = topology;
    const [first, second] = topology.replicas;

    const answers = await Promise.all(Array.from({ length: 12 }, () => topology.query(STATUS, { role: "manager" })));
    expect(answers.map(({ response }) => response)).toEqual(
      Array(12).fill(expect.stringContaining(`**Status:** delivered (${deliveredOrder.orderId})`)),
    );
    const asked = (await nginx.passages(12))
      .filter(({ path }) => path.endsWith("/query"))
      .flatMap((one) => one.replicas);
    expect(new Set(asked).size, "both replicas answered").toBe(2);

    // A stream of one replica can be resumed at the other one after each of its events, byte for byte.
    const whole = await first!.stream(STATUS, { role: "manager" });
    const runId = whole.headers.get("x-run-id") ?? "";
    const path = `/agents/${agentId}/runs/${runId}/events`;
    for (const { id = 0 } of parseSse(whole.text).slice(0, -1)) {
      const head = whole.text.slice(0, whole.text.indexOf("\n\n", whole.text.indexOf(`id: ${id}\n`)) + 2);
      const rest = await second!.get(path, { "last-event-id": String(id) });
      expect(head + (await rest.text()), `resumed after ${id}`).toBe(whole.text);
    }
    const again = await topology.get(path, { "last-event-id": "0" });
    expect(await again.text()).toBe(whole.text);

    // A thread continues on either replica.
    const { threadId } = answers[0]!;
    expect(await second!.query(STATUS, { role: "manager", threadId })).toMatchObject({ success: true, threadId });

    first!.command.process.kill("SIGKILL");
    await first!.command.finished;
    for (let i = 0; i < 4; i++) {
      const more = { "idempotency-key": `after-${i}` };
      expect(await topology.query(STATUS, { role: "manager" }, more)).toMatchObject({ success: true });
    }

    await topology.admin("keys", "revoke", topology.keyId);
    expect((await second!.get(path)).status, "a key revoked in the database opens nothing").toBe(401);
  });
});
