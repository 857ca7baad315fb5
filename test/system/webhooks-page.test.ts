import { mkdir, rm, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSystem } from "@patchbay/test-support/system";

const root = join(import.meta.dirname, "../..");
const [receiver = ""] = [
  ...readFileSync(join(root, "docs/guides/webhooks.md"), "utf8").matchAll(/```ts\n(.*?)```/gs),
].map(([, code = ""]) => code);

/** Runs the receiver of the page in a process. Inside the repository, so that it finds the packages. */
async function startReceiver(secret: string) {
  const folder = join(root, `test/output/webhooks-page-${process.pid}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "receiver.ts"), receiver);
  const child = spawn(process.execPath, [join(folder, "receiver.ts")], {
    env: { WEBHOOK_SECRET: secret, PORT: "0" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const exited = new Promise<void>((done) => child.once("exit", () => done()));
  let output = "";
  let more = Promise.withResolvers<void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    more.resolve();
    more = Promise.withResolvers();
  });
  async function seen(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = pattern.exec(output);
      if (found) return found[1] ?? found[0];
      await Promise.race([more.promise, exited]);
      if (child.exitCode !== null) throw new Error(`the receiver ended: ${output}`);
    }
  }
  return {
    seen,
    output: () => output,
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

test("the receiver of the page accepts deliveries of its agent, and refuses others", async () => {
  await using system = await startSystem({ webhookNetworks: ["127.0.0.1"] });
  const { plane, agentId } = system;
  // The address is known once the receiver listens, and the secret before.
  const { secret } = await plane.admin.setWebhook(agentId, "https://hooks.example");
  await using process = await startReceiver(secret ?? "");
  const port = await process.seen(/port: (\d+)/);
  const url = `http://127.0.0.1:${port}/`;
  await plane.admin.setWebhook(agentId, url);

  await plane.admin.testWebhook(agentId);
  await process.seen(/webhook\.test \{\}/);
  const asked = await system.post(`/agents/${agentId}/query`, { query: "Hello" }, { prefer: "respond-async" });
  const { runId } = (await asked.json()) as { runId: string };
  await process.seen(new RegExp(`run\\.ended .*"runId":"${runId}".*"code":"agent_session_not_found"`));

  const forged = await fetch(url, { method: "POST", body: "{}", headers: { "x-patchbay-signature": "t=1,v1=00" } });
  expect(forged.status).toBe(400);
  expect(process.output().match(/^\w+\.\w+ /gm)).toEqual(["webhook.test ", "run.ended "]);
});
