import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startControlPlane } from "@patchbay/control-plane/admin";
import { connect, silentLog } from "@patchbay/functions";
import type { ServiceScope } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { loadService } from "../src/service-file.ts";
import { runCommand } from "./support/command.ts";
import { AGENT } from "./support/stored-calls.ts";
import { shopWith, source } from "./support/what-if-shop.ts";

test("the same service gives no difference; nothing is written and no handler runs", async () => {
  await using shop = await shopWith();
  const before = shop.rows();

  const { code, stdout, stderr } = await shop.whatIf("--agent", AGENT);
  const last = await shop.whatIf("--agent", AGENT, "--last", "2");

  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "6 calls: 6 unchanged; 0 changed.\n", stderr: "" });
  expect(last.stdout).toBe("2 calls: 2 unchanged; 0 changed.\n");
  expect(shop.rows()).toEqual(before);
  expect(await shop.ran()).toBe("nothing");
});

test("calls come from a running service with --url and a service token that may read their content", async () => {
  await using shop = await shopWith({ operand: "input.orderId === '2'", note: "customer" });
  const { code, stdout, stderr } = await shop.whatIf("--agent", AGENT, "--json");
  const database = `sqlite:${join(shop.path, "patchbay.db")}`;
  const plane = await startControlPlane({ database, port: 0, log: silentLog });
  await using _plane = { [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }) };
  const ask = async (scopes: ServiceScope[], ...args: string[]) => {
    const { secret } = await plane.admin.serviceTokens.create({ orgId: "org_1", scopes });
    const options = ["--url", `${plane.url}/`, "--service-token", secret, "--agent", AGENT];
    const elsewhere = { cwd: shop.path, env: { PATCHBAY_DATA_DIR: join(shop.path, "nowhere") } };
    return await runCommand(["access", "what-if", ...options, ...args], elsewhere);
  };

  const within = await ask(["calls:read", "calls:content"], "--json");
  const last = await ask(["calls:read", "calls:content"], "--json", "--last", "2");
  const without = await ask(["calls:read"]);
  const foreign = await ask(["audit:read"]);
  const noToken = await shop.whatIf("--url", plane.url, "--agent", AGENT);

  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ calls: 6, changed: 2 });
  expect(within).toEqual({ code, stdout, stderr });
  expect(JSON.parse(last.stdout)).toMatchObject({ calls: 2 });
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("lacks the scope calls:content") });
  expect(foreign).toMatchObject({ code: 1, stderr: expect.stringMatching(/answered 403.*calls:read/) });
  expect(noToken).toMatchObject({ code: 1, stderr: expect.stringContaining("--url needs a --service-token") });
});

test("with the file connected as a candidate, what-if has the same result, and no argument reaches the asking machine", async () => {
  await using shop = await shopWith({ operand: "input.orderId === '2'", note: "customer", flows: "ask" });
  const expected = await shop.whatIf("--agent", AGENT, "--json");
  const database = `sqlite:${join(shop.path, "patchbay.db")}`;
  const plane = await startControlPlane({ database, port: 0, log: silentLog });
  await using _plane = { [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }) };
  const { runtimeKey: key } = await plane.admin.createRuntimeKey({ agentId: AGENT });
  const candidate = connect(await loadService(join(shop.path, "service.ts")), {
    url: plane.url,
    key,
    log: silentLog,
    shadow: true,
  });
  await candidate.ready;
  await using _candidate = { [Symbol.asyncDispose]: () => candidate.stop({ drainMs: 0 }) };
  let received = "";
  await using proxy = await startProxy(plane.url, (text) => (received += text));
  const { secret } = await plane.admin.serviceTokens.create({ orgId: "org_1", scopes: ["calls:read"] });
  const options = ["--url", proxy.url, "--service-token", secret, "--agent", AGENT];
  const ask = (...args: string[]) =>
    runCommand(["access", "what-if", ...args, ...options, "--json"], { cwd: shop.path });

  const found = await ask();
  const other = await ask("base.ts");

  expect(found).toEqual(expected);
  expect(found.stdout).toContain("approval (flow: target)");
  expect(received.match(/"callId"/g)).toHaveLength(12);
  expect(received).toContain("judgement");
  expect(received).not.toMatch(/"(arguments|context)":/);
  expect(other.stderr).toContain("patchbay connect FILE --shadow");
});

/** Passes GET requests on, and shows the bodies of their responses. */
async function startProxy(target: string, seen: (text: string) => void) {
  const server = createServer((request, response) => {
    void (async () => {
      const { authorization = "" } = request.headers;
      const answer = await fetch(`${target}${request.url!}`, { headers: { authorization } });
      const text = await answer.text();
      seen(text);
      response.writeHead(answer.status).end(text);
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

test("calls that would be allowed are listed by function and role, and fail the command until they are accepted", async () => {
  await using shop = await shopWith({
    wipe: ["manager", "customer"],
    operand: "input.orderId === '3'",
    note: "customer",
  });

  const { code, stdout, stderr } = await shop.whatIf("--agent", AGENT);
  const half = await shop.whatIf("--agent", AGENT, "--accept", "wipe_data:customer,get_order:manager");
  const accepted = await shop.whatIf("--agent", AGENT, "--accept", "wipe_data:customer, get_order:*");

  expect(stdout).toBe(
    `
change       calls  function   role      decision or member            newest run
would allow  1      get_order  customer  denied (authorize) → allowed  run_3
would allow  1      wipe_data  customer  denied (roles) → allowed      run_5
would show   1      get_order  customer  note                          run_0

6 calls: 3 unchanged; 3 changed.
Without --base FILE, records that changed since count as changes of the service.
`.trimStart(),
  );
  expect(code).toBe(1);
  expect(stderr).toBe(
    "error: 2 calls would be allowed, or approved by others, that were not. If intended, run with --accept get_order:customer,wipe_data:customer\n",
  );
  expect(half).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("One call would be allowed, or approved by others, that was not."),
  });
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringMatching(/^accepted +1 +get_order/m) });
});

test("with --base, records on which the base differs today are drifted", async () => {
  const changed = { operand: "input.orderId === '2'" };
  await using shop = await shopWith({ ...changed, wipe: ["customer"] });
  await writeFile(join(shop.path, "base.ts"), source(changed));

  const { code, stdout } = await shop.whatIf("--agent", AGENT, "--base", "base.ts", "--json");

  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    service: "shop",
    calls: 6,
    unchanged: 4,
    changed: 1,
    drifted: 1,
    otherServices: 0,
    unjudged: 0,
    undecided: 0,
    otherDefaultRoles: [],
    changes: [
      {
        kind: "allow",
        functionName: "wipe_data",
        role: "customer",
        was: "denied (roles)",
        is: "allowed",
        calls: 1,
        examples: [{ runId: "run_5", callId: "call_5" }],
        accepted: false,
      },
    ],
    flows: [],
    unreplayed: 0,
  });
  expect(await shop.whatIf("--agent", AGENT, "--base", "service.ts")).toMatchObject({ code: 0 });
});

test("a missing agent, database, base or service is refused with what to do", async () => {
  await using shop = await shopWith();
  await writeFile(join(shop.path, "other.ts"), source({ name: "crm" }));
  const said = async (...args: string[]) => (await shop.whatIf(...args)).stderr;

  expect(await said()).toBe("error: --what-if needs the agent whose calls it judges: --agent ID.\n");
  expect(await said("--agent", "agt_9")).toContain('Run "patchbay agents list"');
  expect(await said("--agent", AGENT, "--data-dir", "nowhere")).toContain("No database at ");
  expect(await said("--agent", AGENT, "--accept", "wipe_data")).toContain("expected function:role");
  expect(await said("--agent", AGENT, "--base", "other.ts")).toContain("other.ts defines the service crm, and ");
  expect(await said("other.ts", "--agent", AGENT)).toBe(
    "error: None of the last 6 calls of agt_1 is one of the service crm. Check --agent and the name of the service.\n",
  );
});
