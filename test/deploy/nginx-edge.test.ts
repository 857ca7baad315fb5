import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { hasNginx, startNginx } from "../support/nginx.ts";
import { client, startSystem } from "@patchbay/test-support/system";
import { startStandIn } from "./stand-in-replica.ts";

describe.runIf(hasNginx())("what nginx lets through", () => {
  test("the service refuses bodies above its limits, and nginx larger ones in the same form", async () => {
    await using system = await startSystem();
    await using nginx = await startNginx({ replicas: [system.plane.port] });
    const { post } = client(nginx, system);
    const path = `/agents/${system.agentId}/query`;
    for (const [adapter, size] of [
      ["query", LIMITS.bodyBytes],
      ["ui-stream", LIMITS.chatBodyBytes],
      ["ui-stream", 5 * 1024 * 1024],
    ] as const) {
      const response = await post(`/agents/${system.agentId}/${adapter}`, { query: "x".repeat(size) });
      expect(response.status).toBe(413);
      expect(await response.json()).toMatchObject({
        success: false,
        code: "payload_too_large",
        requestId: response.headers.get("x-request-id"),
      });
    }
    expect((await post(path, { query: "x".repeat(99_000) })).status).toBe(200);
    expect((await nginx.passages(4)).map(({ replicas }) => replicas.length)).toEqual([1, 1, 0, 1]);
  });

  test.each([
    "/metrics",
    "/readyz",
    "//metrics",
    "/metrics/",
    "/%6detrics",
    "/agents/../metrics",
    "/agents/%2e%2e/readyz",
    "/agents/..%2fmetrics",
    "/agents/..\\metrics",
    "/console/..\\..\\metrics",
    "/agents/%2e%2e%5cmetrics",
    "/api/%252e%252e/metrics",
    "http://patchbay/metrics",
  ])("%s does not reach the metrics or the readiness of a replica", async (target) => {
    await using system = await startSystem();
    await using nginx = await startNginx({ replicas: [system.plane.port] });
    const answer = await askRaw(nginx.port, target);
    expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
    expect(answer).not.toMatch(/patchbay_|"ready"/);
  });

  test("the service receives the real address and scheme of the client, not forged ones", async () => {
    await using system = await startSystem({ trustProxy: true });
    await using nginx = await startNginx({ replicas: [system.plane.port] });
    const response = await fetch(`${nginx.url}/openapi.json`, {
      headers: { "x-forwarded-host": "evil.example", "x-forwarded-proto": "https" },
    });
    expect(await response.json()).toMatchObject({ servers: [{ url: nginx.url }] });
  });

  test("paths keep their escapes; a valid request id is kept and an invalid one replaced", async () => {
    const seen: IncomingMessage["headers"][] = [];
    await using replica = await startStandIn((request, response) => {
      seen.push(request.headers);
      response.end();
    });
    await using nginx = await startNginx({ replicas: [replica.port] });
    const target = "/agents/a%2Fb%20c/runs/r%3F/events?after=1%262";
    await fetch(nginx.url + target, { headers: { "x-request-id": "mine-1", "x-forwarded-for": "6.6.6.6" } });
    await fetch(nginx.url + target, { method: "POST", headers: { "x-request-id": 'no "good" one' } });

    expect(replica.asked).toEqual([`GET ${target}`, `POST ${target}`]);
    expect(seen[0]).toMatchObject({ "x-request-id": "mine-1", "x-forwarded-for": "127.0.0.1", connection: "close" });
    expect(seen[1]!["x-request-id"]).toMatch(/^[0-9a-f]{32}$/);
    const logged = await nginx.passages(2);
    expect(logged.map(({ requestId }) => requestId)).toEqual(seen.map((headers) => headers["x-request-id"]));
  });

  test.runIf(hasOpenssl())("the TLS part serves once its marks are taken away", async () => {
    await using folder = await temporaryFolder();
    const [certificate, key] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
    const how = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost".split(" ");
    execFileSync("openssl", how.concat("-keyout", key, "-out", certificate), { stdio: "ignore" });
    await using system = await startSystem({ trustProxy: true });
    await using nginx = await startNginx({
      replicas: [system.plane.port],
      replace: {
        "listen 8080;": "",
        "#tls listen 8443 ssl;": "listen 127.0.0.1:PORT ssl;",
        "#tls ": "",
        "/etc/nginx/tls/fullchain.pem": certificate,
        "/etc/nginx/tls/privkey.pem": key,
      },
    });
    const sent = request({
      host: "127.0.0.1",
      port: nginx.port,
      path: "/openapi.json",
      ca: readFileSync(certificate),
      servername: "localhost",
    });
    const [response] = (await once(sent.end(), "response")) as [IncomingMessage];
    const document = JSON.parse((await response.toArray()).join("")) as { servers: { url: string }[] };
    expect(document.servers[0]!.url).toBe(`https://127.0.0.1:${nginx.port}`);
    expect(response.headers["strict-transport-security"]).toBe("max-age=31536000");
  });
});

function hasOpenssl(): boolean {
  if (spawnSync("openssl", ["version"]).error === undefined) return true;
  console.warn("SKIPPED: no openssl found to make a certificate with, so nginx.conf's TLS part is not tested.");
  return false;
}

/** Sends the target unchanged; a URL parser would normalise it. */
async function askRaw(port: number, target: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: patchbay\r\nConnection: close\r\n\r\n`);
  return (await socket.toArray()).join("");
}
