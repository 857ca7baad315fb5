import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";
import { json, startFakeService } from "../../client/test/support/fake-service.ts";

const quickstart = fileURLToPath(new URL("../../../examples/quickstart/service.ts", import.meta.url));
const CLOSE = "Close ticket T-100";

interface Compared {
  query: string;
  roles: {
    role: string;
    success: boolean;
    visible: string[] | null;
    hidden: string[] | null;
    calls: { toolName: string; success: boolean; code: string | null; rule: string | null }[];
    response: string;
    errorMessage: string;
    threadId: string | null;
    runId: string | null;
  }[];
}

/** `patchbay dev` with the quickstart, and `query` for it. */
async function startQuickstart() {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  const dataDir = join(folder.path, "data");
  const dev = opening.use(
    startCommand(["dev", quickstart, "--port", "0", "--json", "--no-watch", "--data-dir", dataDir]),
  );
  const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as Record<"baseUrl" | "agentId" | "apiKey", string>;
  const opened = opening.move();
  return {
    ready,
    dataDir,
    ask: (...args: string[]) => runCommand(["query", ...args, "--data-dir", dataDir]),
    admin: (...args: string[]) => runCommand([...args, "--data-dir", dataDir, "--json"]),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

test("query --as queries as each role on its own thread, and shows visible functions and results of calls", async () => {
  await using desk = await startQuickstart();

  const { code, stdout } = await desk.ask(CLOSE, "--as", "support,staff,none", "--json");

  expect(code).toBe(0);
  const { query, roles } = JSON.parse(stdout) as Compared;
  expect(query).toBe(CLOSE);
  expect(roles).toMatchObject([
    {
      role: "support",
      success: true,
      visible: ["close_ticket", "get_ticket", "list_opening_hours"],
      hidden: [],
      calls: [{ toolName: "close_ticket", success: true, code: null, rule: null }],
      errorMessage: "",
    },
    { role: "staff", success: true, visible: ["get_ticket", "list_opening_hours"], hidden: ["close_ticket"] },
    { role: "none", success: true, visible: ["list_opening_hours"], hidden: ["close_ticket", "get_ticket"], calls: [] },
  ]);
  for (const name of ["threadId", "runId"] as const)
    expect(new Set(roles.map((role) => role[name])).size, name).toBe(3);
});

test("query --as names the rule that refused a call", async () => {
  await using desk = await startQuickstart();
  const asked = ["Show me ticket T-101", "--as", "staff,support", "--context", '{"userId":"ada"}'];

  const { stdout } = await desk.ask(...asked, "--json");
  const shown = await desk.ask(...asked);

  const { roles } = JSON.parse(stdout) as Compared;
  expect(roles.map(({ calls }) => calls)).toMatchObject([
    [{ toolName: "get_ticket", success: false, code: "denied", rule: "authorize" }],
    [{ toolName: "get_ticket", success: true, rule: null }],
  ]);
  expect(shown).toMatchObject({ code: 0 });
  expect(shown.stdout).toMatch(/^function +staff +support$/m);
  expect(shown.stdout).toMatch(/^close_ticket +hidden +visible$/m);
  expect(shown.stdout).toMatch(/^get_ticket +refused \(authorize\)/m);
  for (const line of shown.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
});

test("query --as without the service's database does not show visible functions", async () => {
  await using desk = await startQuickstart();
  const { baseUrl, agentId, apiKey } = desk.ready;
  const target = ["--url", baseUrl, "--agent", agentId, "--key", apiKey];

  const asJson = await runCommand(["query", CLOSE, "--as", "staff,none", "--json", ...target]);
  const shown = await runCommand(["query", CLOSE, "--as", "staff,none", ...target]);

  expect((JSON.parse(asJson.stdout) as Compared).roles).toMatchObject([
    { role: "staff", visible: null, hidden: null },
    { role: "none", visible: null, hidden: null },
  ]);
  expect(shown.stdout).toContain("in the service's database: name it with --data-dir");
});

test("query --as exits 1 when a key may not state one of the roles, and shows the others", async () => {
  await using desk = await startQuickstart();
  const { agentId } = desk.ready;
  const made = await desk.admin("keys", "create", "--agent", agentId, "--roles", "staff");
  const { apiKey } = JSON.parse(made.stdout) as { apiKey: string };

  const { code, stdout, stderr } = await desk.ask(
    "When do you open?",
    "--as",
    "staff,support",
    "--json",
    "--key",
    apiKey,
  );

  expect(code).toBe(1);
  expect(stderr).toContain("support: Role not allowed for this key");
  expect((JSON.parse(stdout) as Compared).roles).toMatchObject([
    { role: "staff", success: true },
    { role: "support", success: false, errorMessage: "Role not allowed for this key", runId: null, calls: [] },
  ]);
  const audited = await desk.admin("audit", "list", "--agent", agentId, "--action", "query.refused");
  expect(JSON.parse(audited.stdout)).toMatchObject({ items: [{ role: "support", rule: "role_not_allowed" }] });
});

test("query --as cannot be used with --role, --thread or --stream", async () => {
  for (const other of [["--role", "staff"], ["--thread", "thr_1"], ["--stream"]])
    expect(await runCommand(["query", "Hello", "--as", "staff", ...other])).toMatchObject({ code: 2 });
});

test("query --as fails with the reason for an unknown key", async () => {
  const body = {
    success: false,
    errorMessage: "Authentication failed",
    code: "authentication_failed",
    requestId: "r1",
  };
  await using service = await startFakeService([json(401, body)]);

  const target = ["--url", service.url, "--agent", "agt_1", "--key", "service_live_x"];
  const { code, stdout, stderr } = await runCommand(["query", "Hello", "--as", "staff,none", ...target]);

  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("Authentication failed");
});
