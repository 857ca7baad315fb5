import { describe, expect, test } from "vitest";
import { startHooked, hooksOf, passed, refusal, SECRET } from "./start-hooks.ts";

describe("beforeQuery", () => {
  test("sees the query with its role and context, before the model", async () => {
    await using system = await startHooked([{ text: "Three." }], () => passed);

    await system.query("How many?", { role: "agent", context: { shop: 7 } });

    expect(system.calls[0]).toEqual({ hook: "beforeQuery", query: "How many?", role: "agent", context: { shop: 7 } });
  });

  test("sees the texts that the client sent next to the query", async () => {
    await using system = await startHooked([{ text: "Three." }], () => passed);
    const quoted = [
      { from: "system", text: "Be brief." },
      { from: "user", text: "Hello" },
    ] as const;

    await system.query("How many?", { quoted });

    expect(system.calls[0]).toMatchObject({ query: "Be brief.\n\nHello\n\nHow many?" });
  });

  test("refuses a query for a quoted text, which is not stored", async () => {
    await using system = await startHooked([], () => refusal);

    const { left } = await system.ask("What was it?", { quoted: [{ from: "user", text: `My card is ${SECRET}.` }] });

    expect(left).not.toContain(SECRET);
  });

  test("refuses a query before it reaches a model, and neither its text nor its context is stored", async () => {
    await using system = await startHooked([], () => refusal);

    const { answer, left } = await system.ask(`My card is ${SECRET}.`, { role: "agent", context: { card: SECRET } });

    expect(answer).toMatchObject({
      success: false,
      code: "refused",
      errorMessage: "We do not discuss that.",
      usage: { inputTokens: 0 },
    });
    expect(system.model.requests).toEqual([]);
    expect(left).not.toContain(SECRET);
    expect(await system.store.runs.get("agt_1", answer.runId)).toMatchObject({
      role: "agent",
      request: { query: expect.stringContaining("was refused"), context: {} },
    });
    expect(await system.events(answer.runId)).toMatchObject([{ type: "error", code: "refused" }]);
    expect(await system.audited()).toContainEqual({
      action: "run.refused",
      rule: "refused",
      detail: { hook: "beforeQuery", service: "test" },
    });
  });

  test.each([
    ["fails", { verdict: "failed", reference: "abc" }, "abc"],
    ["cannot be asked", undefined, "not connected or did not answer in time"],
  ] as const)("that %s ends the query with internal", async (_, verdict, reason) => {
    await using system = await startHooked([], () => verdict);

    expect(await system.query("How many?")).toMatchObject({
      code: "internal",
      errorMessage: expect.stringContaining(reason),
    });
    expect(system.model.requests).toEqual([]);
  });

  test("is not asked about a query that is rejected anyway, or about a test call", async () => {
    await using system = await startHooked([], () => refusal);

    expect(await system.query("How many?", { llm: { provider: "openai" } })).toMatchObject({
      code: "provider_not_configured",
    });
    const testCall = { functionName: "open", arguments: { n: 1 } };
    expect(await system.query("open", { testCall })).toMatchObject({ success: true });
    expect(system.calls).toEqual([]);
  });

  test("of every service is asked, and one refusal is enough", async () => {
    const hooks = ["a", "b", "c"].map((service) => hooksOf(service));
    await using system = await startHooked([], (_, __, hash) => (hash === "hash of b" ? refusal : undefined), {
      manifest: { hooks },
    });

    expect(await system.query("How many?")).toMatchObject({ code: "refused", errorMessage: "We do not discuss that." });
    expect(system.calls).toHaveLength(3);
    expect(await system.audited()).toContainEqual(
      expect.objectContaining({ detail: { hook: "beforeQuery", service: "b" } }),
    );
  });

  test("of a service that is not connected fails every query", async () => {
    await using system = await startHooked([], () => passed);
    const { session } = system.runtime.gateway;
    system.runtime.gateway.session = async (...args) => {
      const found = await session(...args);
      return found && { ...found, missing: [{ service: "guard", hasHooks: true }] };
    };

    expect(await system.query("How many?")).toMatchObject({
      code: "internal",
      errorMessage: expect.stringContaining("service guard"),
    });
    expect(system.model.requests).toEqual([]);
  });
});
