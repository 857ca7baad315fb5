import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { freePort } from "@patchbay/test-support/free-port";
import { hasNginx, startNginx } from "../support/nginx.ts";
import { readAlong } from "@patchbay/test-support/reader";
import { startSystem } from "@patchbay/test-support/system";
import { draining, startStandIn } from "./stand-in-replica.ts";

describe.runIf(hasNginx())("the console through nginx", () => {
  test("its pages and its API pass, and the root address redirects to it", async () => {
    await using system = await startSystem();
    await using nginx = await startNginx({ replicas: [system.plane.port] });
    const bare = await fetch(nginx.url, { redirect: "manual" });
    expect([bare.status, bare.headers.get("location")]).toEqual([302, "/console"]);
    const page = await fetch(`${nginx.url}/console/agents`);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect((await fetch(`${nginx.url}/api/openapi.json`)).status).toBe(200);
  });

  test.each([
    ["GET", "/api/live"],
    ["GET", "/api/agents/agt_1/runs/run_1/events"],
    ["POST", "/api/agents/agt_1/playground"],
  ])("%s %s arrives event by event", async (method, path) => {
    const asked = Promise.withResolvers<ServerResponse>();
    await using replica = await startStandIn((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: first\n\n");
      asked.resolve(response);
    });
    await using nginx = await startNginx({ replicas: [replica.port] });
    const reader = readAlong(await fetch(nginx.url + path, { method, ...(method === "POST" && { body: "{}" }) }));
    // The replica sends nothing more before this arrives.
    await reader.seen(/data: first\n\n/);
    (await asked.promise).end("data: last\n\n");
    expect(await reader.over).toBe(true);
    expect(reader.text).toContain("data: last");
  });

  test("a member signs in with a link, and a page of another site cannot", async () => {
    await using system = await startSystem({ trustProxy: true });
    await using nginx = await startNginx({ replicas: [system.plane.port] });
    const open = async (headers: Record<string, string>) => {
      const { path } = await system.plane.admin.members.signInLink(system.orgId);
      const body = JSON.stringify({ link: path.split("#")[1] });
      const as = { "content-type": "application/json", ...headers };
      return fetch(`${nginx.url}/api/links/open`, { method: "POST", headers: as, body });
    };
    const refused = await open({ origin: "https://evil.example", "x-forwarded-host": "evil.example" });
    expect([refused.status, await refused.json()]).toEqual([403, expect.objectContaining({ code: "csrf_refused" })]);

    const opened = await open({ origin: nginx.url });
    expect(opened.status).toBe(200);
    const [cookie = ""] = opened.headers.getSetCookie().map((set) => set.split(";")[0]!);
    const session = await fetch(`${nginx.url}/api/session`, { headers: { cookie } });
    expect(await session.json()).toMatchObject({ baseUrl: nginx.url });
  });

  test.each([
    ["GET", "/console/agents", "goes to the next replica"],
    ["GET", "/api/agents", "goes to the next replica"],
    ["POST", "/api/agents", "is not repeated"],
  ])("%s %s, refused by a draining replica, %s", async (method, path, then) => {
    await using stopping = await startStandIn(draining);
    await using serving = await startStandIn((_request, response) => response.end("{}"));
    await using nginx = await startNginx({ replicas: [stopping.port, serving.port] });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await fetch(nginx.url + path, { method })).status);
    expect(stopping.asked).not.toEqual([]);
    const refused = statuses.filter((status) => status === 503);
    expect(refused).toHaveLength(then === "goes to the next replica" ? 0 : stopping.asked.length);
    expect(serving.asked).toHaveLength(4 - refused.length);
  });

  test("without a replica its API answers in the form of the service", async () => {
    await using nginx = await startNginx({ replicas: [await freePort()] });
    const response = await fetch(`${nginx.url}/api/session`);
    expect([response.status, await response.json()]).toEqual([503, expect.objectContaining({ code: "unavailable" })]);
  });
});
