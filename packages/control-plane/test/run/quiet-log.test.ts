import { inspect } from "node:util";
import { expect, test } from "vitest";
import type { Log, LogFields } from "../../src/ports/log.ts";
import { ModelError } from "../../src/ports/model-provider.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

function listeningLog(lines: unknown[]): Log {
  const hear = (message: string, fields?: LogFields) => void lines.push([message, fields]);
  return { debug: hear, info: hear, warn: hear, error: hear, child: () => listeningLog(lines) };
}

test("what a provider's library threw is not logged: it may quote a key or the query", async () => {
  const cause = Object.assign(new Error('401 {"error":"Incorrect API key sk-quoted"}'), { body: "Where is my order?" });
  const fail = new ModelError("authentication", "scripted answered 401: the key was refused", { cause });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  const lines: unknown[] = [];
  await using core = await startCore({
    models: scriptedModel([{ fail }]).catalog,
    gateway,
    log: listeningLog(lines),
  });

  await core.query("Where is my order?");

  const logged = inspect(lines, { depth: Infinity });
  expect(logged).toContain("the key was refused");
  expect(logged).not.toMatch(/sk-quoted|my order/);
});
