import { CONSOLE_ROUTES, type ConsoleRoute } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { ending, sampleCall, sampleRun, sampleTurn } from "../../store/test/contract/world.ts";
import { postgresPlace } from "../../store/test/postgres-place.ts";
import { openConsole, PASSWORD } from "./support/open-console.ts";

const REFUND = {
  name: "refund",
  description: "Refunds an order.",
  inputSchema: { type: "object" },
  roles: "everyone" as const,
  conditional: false,
  effect: "write" as const,
  idempotent: false,
  timeoutMs: 1_000,
};
const MANIFEST = { name: "desk", preparesContext: false, functions: [REFUND] };

test("on Postgres with row-level security an owner signs in and every page has its shape", async () => {
  await using place = await postgresPlace();
  await using console = await openConsole({}, place.database.url);
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const { store } = console;
  await store.runtimes.saveManifest(agentId, "set_1", MANIFEST, {
    cases: [{ functionName: "refund", name: "own", input: {}, context: {} }],
    lock: { version: 2, functions: {} },
  });
  const run = await store.runs.start(
    sampleRun({ orgId: console.orgId, agentId, sessionId: "s1", manifestHash: "set_1" }),
  );
  if (run.kind !== "started") throw new Error(run.kind);
  const calls = [sampleCall("call_1", { functionName: "refund", outcome: { ok: true, value: 1 } })];
  await store.runs.commit(run.run, { ...ending(run.run), turn: sampleTurn(0, { costMicros: 5 }), calls });
  await console.admin.setWebhook(agentId, "https://hooks.example");
  await console.admin.testWebhook(agentId);
  console.clock.advance(1_000);
  const setUp = await console.admin.members.setUpLink({ replace: true });
  const browser = console.browser();
  const body = { link: setUp?.path.split("#")[1], name: "Ann", email: "ann@example.com", password: PASSWORD };
  expect((await browser.ask("POST", "/api/links/accept", { body })).status).toBe(200);

  const ids: Record<string, string> = {
    agent_id: agentId,
    run_id: run.run.runId,
    thread_id: run.run.threadId,
    function_name: "refund",
    step: "0",
  };
  const odd: string[] = [];
  for (const [name, { answer, query }] of Object.entries<ConsoleRoute>(CONSOLE_ROUTES)) {
    if (!name.startsWith("GET ") || typeof answer === "string") continue;
    const address = `/api${name.slice(4).replace(/:(\w+)/g, (_, id: string) => ids[id] ?? "none")}`;
    const searched = query && "q" in query.shape ? [`${address}?q=%00x'%25_`] : [];
    for (const asked of [address, ...searched]) {
      const response = await browser.ask("GET", asked);
      const parsed = answer.safeParse(await response.json());
      if (response.status !== 200 || !parsed.success) odd.push(`${response.status} ${asked} ${parsed.error?.message}`);
    }
  }

  expect(odd).toEqual([]);
});
