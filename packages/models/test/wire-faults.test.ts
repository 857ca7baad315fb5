import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { ModelError } from "@patchbay/engine/ports/model-provider";
import * as fc from "@patchbay/test-support/properties";
import { createModelCatalog, type ProviderConfig } from "../src/catalog.ts";
import { asking, turnOf } from "./drive.ts";
import { GOOD, GOOD_END, readTexts, WIRE_NAMES, type WireName } from "./wire-streams.ts";

/** Each value in a JSON value, replaced by `value` in turn. */
function replacements(whole: unknown, value: unknown): unknown[] {
  if (typeof whole !== "object" || whole === null) return [value];
  const inner = Object.entries(whole).flatMap(([name, member]) =>
    replacements(member, value).map((changed) =>
      Array.isArray(whole) ? whole.with(Number(name), changed) : { ...whole, [name]: changed },
    ),
  );
  return [value, ...inner];
}

const CONFIG: Record<WireName, (baseUrl: string) => ProviderConfig> = {
  anthropic: (baseUrl) => ({ anthropic: { apiKey: "k", baseUrl } }),
  "openai-chat": (baseUrl) => ({ openai: { apiKey: "k", baseUrl, api: "chat" } }),
  "openai-responses": (baseUrl) => ({ openai: { apiKey: "k", baseUrl, api: "responses" } }),
  gemini: (baseUrl) => ({ gemini: { apiKey: "k", baseUrl } }),
};

describe.each(WIRE_NAMES)("%s", (wire) => {
  test("an event of any form gives a turn or a failure of its own, and is never reported as one of the network", async () => {
    const events = GOOD[wire]("Hi.", [{ id: "call_1", name: "ping", text: '{"a":1}' }], GOOD_END[wire]);
    const holds = async (at: number, value: unknown) => {
      const forms = replacements(events, value).slice(1) as object[][];
      const texts = forms[at % forms.length]!.map((event) => JSON.stringify(event));
      const outcome: unknown = await readTexts(wire, texts).catch((error: unknown) => error);
      if (!(outcome instanceof Error)) return;
      expect(outcome).toBeInstanceOf(ModelError);
      expect((outcome as ModelError).kind).not.toBe("network");
    };
    await fc.assert(fc.asyncProperty(fc.nat(), fc.jsonValue({ maxDepth: 2 }), holds), { numRuns: 300 });
  });

  test("an answer that is not an event stream is not asked for again, and the log has its type and beginning", async () => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/html" }).end(`<title>Sign in</title>${"x ".repeat(100)}`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const chosen = createModelCatalog(
      CONFIG[wire](`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ).choose();
    if ("missing" in chosen) throw new Error("not configured");

    const failure = await turnOf(chosen.provider, asking("m")).catch((error: unknown) => error);

    expect(failure).toMatchObject({
      kind: "unreadable",
      retryable: false,
      message: expect.stringMatching(/ answered with text\/html instead of events: "<title>Sign in<\/title>(x ){39}"$/),
    });
  });
});
