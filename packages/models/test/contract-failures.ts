import { expect, test } from "vitest";
import { scriptFor, STAND_IN_KEY, startStandIn, type ScriptedError } from "@patchbay/test-support/providers";
import { createModelCatalog, type ProviderConfig } from "../src/catalog.ts";
import { ModelError, type ModelErrorKind, type ModelEvent } from "@patchbay/engine/ports/model-provider";
import type { WireTraits } from "./drive.ts";
import { asking, providerOf, streamed, turnOf } from "./drive.ts";

const BY_STATUS: [number, ModelErrorKind, boolean][] = [
  [400, "bad_request", false],
  [401, "authentication", false],
  [403, "authentication", false],
  [404, "unknown_model", false],
  [429, "rate_limited", true],
  [500, "server", true],
  [503, "overloaded", true],
];

/** Requests that the provider rejects or does not answer. */
export function failureContract({ wire, model, quota, tooLong, retryAfter }: WireTraits): void {
  const { signal } = new AbortController();
  async function failure(error: ScriptedError): Promise<ModelError> {
    await using standIn = await startStandIn(wire, scriptFor({ error }));
    const events: ModelEvent[] = [];
    const outcome = await (async () => {
      for await (const event of streamed(providerOf(standIn), asking(model), signal)) events.push(event);
    })().catch((error: unknown) => error);
    // No provider charges for such a request.
    expect(events).toEqual([]);
    // Retries belong to the loop, which counts them.
    expect(standIn.requests).toHaveLength(1);
    if (!(outcome instanceof ModelError)) throw new Error("no ModelError", { cause: outcome });
    return outcome;
  }

  test.each(BY_STATUS)("status %i is %s", async (status, kind, retryable) => {
    expect(await failure({ status })).toMatchObject({ kind, retryable });
  });

  test("an exhausted quota is not retried", async () => {
    expect(await failure(quota)).toMatchObject({ kind: "quota", retryable: false });
  });

  test("a conversation that is too long has its own code", async () => {
    expect(await failure(tooLong)).toMatchObject({ kind: "context_window", retryable: false });
  });

  test("the wait that the provider asks for is kept", async () => {
    expect(await failure(retryAfter)).toMatchObject({ kind: "rate_limited", retryAfterMs: 2500 });
  });

  test("a rejected key is reported, but its value is not shown", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const wrong = JSON.parse(JSON.stringify(standIn.config).replaceAll(STAND_IN_KEY, "secret-key-1")) as ProviderConfig;
    const catalog = createModelCatalog(wrong);
    const chosen = catalog.choose();
    if ("missing" in chosen) throw new Error("not configured");

    const outcome = await turnOf(chosen.provider, asking(model)).catch((error: unknown) => error);

    expect(outcome).toMatchObject({ kind: "authentication", message: expect.stringContaining("refused") });
    expect(String(outcome)).not.toContain("secret-key-1");
  });

  test("a provider that cannot be reached is a network failure", async () => {
    const standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const provider = providerOf(standIn);
    await standIn.close();

    await expect(turnOf(provider, asking(model))).rejects.toMatchObject({ kind: "network", retryable: true });
  });
}
