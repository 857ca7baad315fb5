import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { serviceSource } from "../../packages/cli/test/support/service-source.ts";

interface Made {
  agent: { agentId: string };
  key: { secret: string };
}

test("a service is set up from nothing by variables and one service token, and answers a query", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  const secret = async (kind: string) => {
    const { stdout } = await runCommand(["generate", kind]);
    const file = join(folder.path, kind);
    await writeFile(file, stdout);
    return { file, text: stdout.trim() };
  };
  const token = await secret("service-token");
  const env = {
    PATCHBAY_PROVIDER: "offline",
    PATCHBAY_INIT_ORG: "Acme",
    PATCHBAY_INIT_OWNER_EMAIL: "ann@example.com",
    PATCHBAY_INIT_OWNER_PASSWORD: "correct horse battery",
    PATCHBAY_INIT_SERVICE_TOKEN_FILE: token.file,
  };
  const serve = (more: Record<string, string> = {}) =>
    startCommand(["serve", "--port", "0", "--data-dir", folder.path, "--json"], { env: { ...env, ...more } });
  await using first = serve();
  const { baseUrl, ...ready } = JSON.parse(await first.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };
  expect(ready).toEqual({ ready: true });
  async function ask<T>(method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${baseUrl}/api${path}`, {
      method,
      headers: { Authorization: `Bearer ${token.text}`, "Content-Type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  }

  const { agent, key } = await ask<Made>("POST", "/agents", { name: "Desk" });
  const { agentId } = agent;
  const runtime = await ask<{ secret: string }>("POST", `/agents/${agentId}/credentials`, { kind: "runtime" });
  await using connected = startCommand(["connect", "service.ts", "--json"], {
    cwd: folder.path,
    env: { PATCHBAY_URL: baseUrl, PATCHBAY_AGENT: agentId, PATCHBAY_RUNTIME_KEY: runtime.secret },
  });
  await connected.seen('"ready":true');
  const answer = await fetch(`${baseUrl}/agents/${agentId}/query`, {
    method: "POST",
    headers: { "X-API-Key": key.secret, "Content-Type": "application/json" },
    body: JSON.stringify({ query: 'Greet "Ann"' }),
  });
  expect(await answer.json()).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "greet", success: true }],
  });

  const signIn = { email: "ann@example.com", password: env.PATCHBAY_INIT_OWNER_PASSWORD };
  const session = await fetch(`${baseUrl}/api/session`, {
    method: "POST",
    headers: { Origin: baseUrl, "Content-Type": "application/json" },
    body: JSON.stringify(signIn),
  });
  expect(await session.json()).toMatchObject({ member: { role: "owner" }, organisation: { name: "Acme" } });

  first.process.kill("SIGTERM");
  expect((await first.finished).code).toBe(0);
  await using second = serve();
  await second.seen(/^\{"ready".*\}$/m);
  second.process.kill("SIGTERM");
  await second.finished;
  await using other = serve({ PATCHBAY_INIT_ORG: "Other" });
  expect(await other.finished).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("PATCHBAY_INIT_ORG differs from the value at the first start") as string,
  });
});
