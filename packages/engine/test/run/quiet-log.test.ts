import { inspect } from "node:util";
import { expect, test } from "vitest";
import { ModelError } from "../../src/ports/model-provider.ts";
import { recordingLog, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

test("errors of a provider's library are not logged, because they may quote a key or the query", async () => {
  const cause = Object.assign(new Error('401 {"error":"Incorrect API key sk-quoted"}'), { body: "Where is my order?" });
  const fail = new ModelError("authentication", "scripted answered 401: the key was refused", { cause });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  const log = recordingLog();
  await using core = await startCore({ models: scriptedModel([{ fail }]).catalog, gateway, log });

  await core.query("Where is my order?");

  const logged = inspect(log.lines, { depth: Infinity });
  expect(logged).toContain("the key was refused");
  expect(logged).not.toMatch(/sk-quoted|my order/);
});
