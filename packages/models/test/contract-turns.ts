import { expect, test } from "vitest";
import { scriptFor, startStandIn } from "@patchbay/test-support/providers";
import type { ModelTurn } from "@patchbay/engine/ports/model-provider";
import type { WireTraits } from "./drive.ts";
import { asking, continued, eventsOf, FUNCTIONS, providerOf, turnOf } from "./drive.ts";

/** Complete turns. */
export function turnContract({ wire, model, takesTemperature, takesNoTemperature, seesCutCalls }: WireTraits): void {
  test("an answer arrives in pieces, then complete", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "It left **today** — à bientôt 👋" }));

    const events = await eventsOf(providerOf(standIn), asking(model));

    const pieces = events.flatMap((event) => (event.type === "textDelta" ? [event.text] : []));
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join("")).toBe("It left **today** — à bientôt 👋");
    expect(events.at(-1)).toMatchObject({
      type: "end",
      turn: { text: "It left **today** — à bientôt 👋", calls: [], stop: "stop", model },
    });
  });

  test("the request has the system prompt, the preface before the query, the functions and the limit", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));

    await turnOf(providerOf(standIn), asking(model));

    expect(standIn.requests[0]?.refusal).toBeUndefined();
    expect(standIn.requests[0]?.summary).toMatchObject({
      system: "You are the desk of a shop.",
      query: "The user's role is customer.\n\nWhere is order 7?",
      functions: ["orders_find", "ping"],
      maxTokens: 8192,
      toolChoice: "auto",
    });
  });

  test("thoughts are streamed and kept separate from the answer", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ thoughts: ["First look it up."], text: "Done." }));

    const events = await eventsOf(providerOf(standIn), asking(model));

    const thought = events.flatMap((event) => (event.type === "thoughtDelta" ? [event.text] : [])).join("");
    expect(thought).toBe("First look it up.");
    expect(events.at(-1)).toMatchObject({ turn: { thoughts: ["First look it up."], text: "Done." } });
  });

  test("a call has the owner's name, dots and all, and its arguments as JSON text", async () => {
    const call = { name: "orders.find", arguments: { id: "#W7", limit: 2 } };
    await using standIn = await startStandIn(wire, scriptFor({ calls: [call] }));

    const turn = await turnOf(providerOf(standIn), asking(model));

    expect(turn.stop).toBe("calls");
    expect(turn.calls).toEqual([
      { id: expect.stringMatching(/./), name: "orders.find", arguments: '{"id":"#W7","limit":2}' },
    ]);
  });

  test("calls of one turn keep their order and have distinct ids", async () => {
    const calls = [{ name: "ping" }, { name: "orders.find", arguments: { id: "1" } }, { name: "ping" }];
    await using standIn = await startStandIn(wire, scriptFor({ text: "Looking.", calls }));

    const turn = await turnOf(providerOf(standIn), asking(model));

    expect(turn.calls.map(({ name }) => name)).toEqual(["ping", "orders.find", "ping"]);
    expect(new Set(turn.calls.map(({ id }) => id)).size).toBe(3);
  });

  test("the arguments of a call without any are empty text", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ calls: [{ name: "ping" }] }));

    expect((await turnOf(providerOf(standIn), asking(model))).calls[0]?.arguments).toBe("");
  });

  test("an unknown function name is passed through", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ calls: [{ name: "drop_tables" }] }));

    expect((await turnOf(providerOf(standIn), asking(model))).calls[0]?.name).toBe("drop_tables");
  });

  test("results are sent with the ids of their calls, and failed ones are marked", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor({ calls: [{ name: "orders.find", arguments: { id: "7" } }, { name: "ping" }] }, { text: "ok" }),
    );
    const provider = providerOf(standIn);
    const asked = asking(model);
    const turn = await turnOf(provider, asked);

    const [assistant, results] = continued(turn, { content: '{"status":"sent"}', isError: false });
    if (assistant?.role !== "assistant" || results?.role !== "results") throw new Error("wrong order");
    results.results[1] = { callId: turn.calls[1]?.id ?? "", name: "ping", content: "closed on Sundays", isError: true };
    await turnOf(provider, { ...asked, messages: [...asked.messages, assistant, results] });

    expect(standIn.requests[1]?.summary.results).toEqual([
      { callId: expect.any(String), name: "orders_find", content: '{"status":"sent"}' },
      { callId: expect.any(String), name: "ping", content: expect.stringContaining("closed on Sundays") },
    ]);
    const raw = JSON.stringify(standIn.requests[1]?.body);
    expect(raw).toMatch(/"is_error":true|\{\\?"error\\?":\\?"closed on Sundays/);
  });

  test("within a run the provider receives its own turns unchanged", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor(
        { thoughts: ["Both.", "Again — ünïcode"], text: "One moment.", calls: [{ name: "ping" }, { name: "ping" }] },
        { thoughts: ["Now the order."], calls: [{ name: "orders.find", arguments: { id: "7" } }] },
        { text: "Order 7 is on its way." },
      ),
    );
    const provider = providerOf(standIn);
    const messages = [...asking(model).messages];
    const turns: ModelTurn[] = [];
    for (let step = 0; step < 3; step++) {
      const turn = await turnOf(provider, asking(model, { messages: [...messages] }));
      turns.push(turn);
      messages.push(...continued(turn, { content: '{"open":true}', isError: false }));
    }

    expect(standIn.requests.map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined]);
    const sent = JSON.stringify(standIn.requests[2]?.body);
    for (const turn of turns.slice(0, 2)) {
      const { blocks } = turn.echo ?? {};
      for (const block of Array.isArray(blocks) ? blocks : [blocks]) expect(sent).toContain(JSON.stringify(block));
    }
  });

  test("a turn of another model is sent as plain text and calls", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const calls = [{ id: "call_other", name: "orders.find", arguments: '{"id":"7"}' }];
    const echo = { provider: "elsewhere", model: "other", blocks: [{ type: "secret", signature: "abc" }] };

    await turnOf(
      providerOf(standIn),
      asking(model, {
        messages: [
          { role: "user", text: "First" },
          { role: "assistant", text: "Looking.", calls, echo },
          { role: "results", results: [{ callId: "call_other", name: "orders.find", content: "{}", isError: false }] },
          { role: "assistant", text: "Sent.", calls: [] },
          { role: "user", text: "And now?" },
        ],
      }),
    );

    expect(standIn.requests[0]?.refusal).toBeUndefined();
    expect(JSON.stringify(standIn.requests[0]?.body)).not.toContain("secret");
    expect(standIn.requests[0]?.summary.messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "First"],
      ["assistant", "Looking."],
      ["results", ""],
      ["assistant", "Sent."],
      ["user", "And now?"],
    ]);
  });

  test("usage has cached tokens as parts of the input, and reasoning as a part of the output", async () => {
    const usage = {
      input: 1000,
      cachedInput: 600,
      cacheWriteInput: wire === "gemini" ? 0 : 300,
      output: 50,
      reasoning: 20,
    };
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok", usage }));

    expect((await turnOf(providerOf(standIn), asking(model))).usage).toEqual(usage);
  });

  test("an answer cut by maxTokens is marked", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "It lef", stop: "length" }));

    const turn = await turnOf(providerOf(standIn), asking(model));

    expect(turn).toMatchObject({ text: "It lef", stop: "length", calls: [] });
    expect(turn.cutCall).toBeUndefined();
  });

  test("a turn cut inside a call has no call to run", async () => {
    const calls = [{ name: "ping" }, { name: "orders.find", arguments: { id: "a long id", limit: 3 } }];
    await using standIn = await startStandIn(wire, scriptFor({ calls, stop: "length" }));

    const turn = await turnOf(providerOf(standIn), asking(model));

    expect(turn).toMatchObject({ stop: "length", calls: [], cutCall: true });
  });

  if (seesCutCalls) {
    test("a turn whose only call was cut is marked as cut inside a call", async () => {
      const calls = [{ name: "orders.find", arguments: { id: "a long id", limit: 3 } }];
      await using standIn = await startStandIn(wire, scriptFor({ calls, stop: "length" }));

      const turn = await turnOf(providerOf(standIn), asking(model));

      expect(turn).toMatchObject({ stop: "length", cutCall: true, calls: [] });
    });
  }

  test("a refusal differs from an answer, and has no call to run", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor({ text: "I cannot do that.", calls: [{ name: "ping" }], stop: "refused" }),
    );

    expect(await turnOf(providerOf(standIn), asking(model))).toMatchObject({ stop: "refused", calls: [] });
  });

  test("a temperature is sent to a model that supports it", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));

    const turn = await turnOf(providerOf(standIn), asking(takesTemperature, { temperature: 0.5 }));

    expect(standIn.requests[0]?.summary.temperature).toBe(0.5);
    expect(turn.warnings).toBeUndefined();
  });

  test("a temperature is omitted, with a warning, if the model does not support it", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));

    const turn = await turnOf(providerOf(standIn), asking(takesNoTemperature, { temperature: 0.5 }));

    expect(standIn.requests[0]?.summary.temperature).toBeUndefined();
    expect(turn.warnings).toEqual([expect.stringContaining("takes no temperature")]);
  });

  test("a request for an answer without calls still declares the functions", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));

    await turnOf(providerOf(standIn), asking(model, { toolChoice: "none" }));

    expect(standIn.requests[0]?.summary).toMatchObject({ toolChoice: "none", functions: ["orders_find", "ping"] });
  });

  test("a query needs neither functions nor a system prompt", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));

    const turn = await turnOf(providerOf(standIn), asking(model, { functions: [], system: "" }));

    expect(turn.text).toBe("ok");
    expect(standIn.requests[0]?.summary).toMatchObject({ functions: [], system: "" });
  });

  test("a function set is converted to the wire's form once", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const provider = providerOf(standIn);

    await turnOf(provider, asking(model));
    await turnOf(provider, asking(model, { functions: FUNCTIONS }));

    expect(JSON.stringify(standIn.requests[1]?.body["tools"])).toBe(JSON.stringify(standIn.requests[0]?.body["tools"]));
  });
}
