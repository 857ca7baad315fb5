import { CONSOLE_ROUTES } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { silentLog } from "@patchbay/kit";
import { startControlPlane } from "../../control-plane/src/start/control-plane.ts";
import { failureOf, openConsole } from "./support/open-console.ts";

const unsafe = Object.keys(CONSOLE_ROUTES)
  .map((name) => name.split(" ") as [string, string])
  .filter(([method]) => method !== "GET");

test.each(unsafe)("%s %s is rejected for pages of other sites", async (method, path) => {
  await using console = await openConsole();
  const { browser } = await console.member("owner");
  const at = `/api${path.replace(/:\w+/g, "x")}`;
  const from = (headers: Record<string, string>) => browser.ask(method, at, { headers, body: {} });

  for (const site of ["cross-site", "same-site", "none"])
    expect(await failureOf(await from({ "Sec-Fetch-Site": site }))).toEqual([403, "csrf_refused"]);
});

test("without Sec-Fetch-Site the Origin must be the service's own", async () => {
  await using console = await openConsole();
  const { cookie } = await console.member("viewer");
  const rename = (headers: Record<string, string>) =>
    console.app.request("http://localhost:8787/api/account", {
      method: "PATCH",
      headers: { Host: "localhost:8787", Cookie: cookie, "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ name: "New" }),
    });

  for (const headers of [
    {},
    { Origin: "null" },
    { Origin: "http://evil.example" },
    { Origin: "https://localhost:8787" },
  ])
    expect(await failureOf(await rename(headers))).toEqual([403, "csrf_refused"]);
  expect((await rename({ Origin: "http://localhost:8787" })).status).toBe(200);
});

test("reads need no proof of origin, because they change nothing", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  const read = await browser.ask("GET", "/api/session", { headers: { "Sec-Fetch-Site": "none" } });
  expect(read.status).toBe(200);
});

test("a body that is not JSON, as a form of another site sends it, is rejected with 415", async () => {
  await using console = await openConsole();
  const { browser } = await console.member("viewer");
  const headers = { "Content-Type": "text/plain" };
  const sent = await browser.ask("PATCH", "/api/account", { body: '{"name":"x"}', headers });
  expect(await failureOf(sent)).toEqual([415, "unsupported_media_type"]);
});

test("the console ignores API keys, and the query API ignores the console's cookie", async () => {
  const plane = await startControlPlane({ database: "sqlite::memory:", port: 0, log: silentLog, local: true });
  const admin = createAdmin({ store: plane.store });
  const { orgId } = await admin.createOrg("Acme");
  const { agentId, apiKey } = await admin.createAgent("Desk", { orgId });
  const { path } = await admin.members.signInLink(orgId);
  const opened = await fetch(`${plane.url}/api/links/open`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: plane.url },
    body: JSON.stringify({ link: path.split("#")[1] }),
  });
  const cookie = opened.headers.get("Set-Cookie")?.split(";")[0] ?? "";
  const status = async (path: string, headers: Record<string, string>) =>
    (await fetch(plane.url + path, { headers })).status;

  const statuses = {
    consoleByCookie: await status("/api/session", { Cookie: cookie }),
    consoleByKey: await status("/api/session", { "X-API-Key": apiKey, Authorization: `Bearer ${apiKey}` }),
    apiByKey: await status(`/agents/${agentId}/threads`, { "X-API-Key": apiKey }),
    apiByCookie: await status(`/agents/${agentId}/threads`, { Cookie: cookie }),
  };

  expect(statuses).toEqual({ consoleByCookie: 200, consoleByKey: 401, apiByKey: 200, apiByCookie: 401 });
  await plane.close({ graceMs: 0 });
});
