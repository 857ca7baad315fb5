import { join } from "node:path";
import { startControlPlane } from "@patchbay/control-plane/admin";
import { silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { runCommand } from "./support/command.ts";
import { AGENT } from "./support/stored-calls.ts";
import { shopWith } from "./support/what-if-shop.ts";

const RULED = [
  {
    flows: "report",
    changes: "",
    counts: "would report  2      get_order  target",
    summary: "6 calls: 6 unchanged; 0 changed.",
  },
  {
    flows: "ask",
    changes: "would deny  2      get_order  customer  allowed → approval (flow: target)  run_1\n",
    counts: "would ask  2      get_order  target",
    summary: "6 calls: 4 unchanged; 2 changed.",
  },
  {
    flows: "deny",
    changes: "would deny  2      get_order  customer  allowed → denied (flow: target)  run_1\n",
    counts: "would deny  2      get_order  target",
    summary: "6 calls: 4 unchanged; 2 changed.",
  },
] as const;

test.each(RULED)("calls that the data-flow rules do not allow are counted: $flows", async ({ flows, ...shown }) => {
  await using shop = await shopWith({ flows });

  const { code, stdout } = await shop.whatIf("--agent", AGENT);
  const { stdout: same } = await shop.whatIf("--agent", AGENT, "--base", "service.ts");

  expect(code).toBe(0);
  for (const line of Object.values(shown)) expect(stdout).toContain(line);
  expect(same).toContain(flows === "report" ? "6 unchanged" : "2 drifted");
});

test("explain names the data-flow rules of a call", async () => {
  await using shop = await shopWith({ flows: "ask" });

  const { stdout } = await runCommand(["access", "explain", "service.ts", "get_order", "--role", "customer"], {
    cwd: shop.path,
  });

  expect(stdout).toContain("flow rule target: orderId has a value that the caller gave\n");
});

test("data-flow rules that a service token cannot replay are reported as such", async () => {
  await using shop = await shopWith({ flows: "ask" });
  const plane = await startControlPlane({
    database: `sqlite:${join(shop.path, "patchbay.db")}`,
    port: 0,
    log: silentLog,
  });
  await using _plane = { [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }) };
  const { secret } = await plane.admin.serviceTokens.create({
    orgId: "org_1",
    scopes: ["calls:read", "calls:content"],
  });

  const { stdout } = await shop.whatIf("--agent", AGENT, "--url", plane.url, "--service-token", secret);

  expect(stdout).toContain("The data-flow rules were not replayed");
  expect((await shop.whatIf("--agent", AGENT)).stdout).not.toContain("not replayed");
});
