import { describe, expect, test } from "vitest";
import { USAGE } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { API_KEY, QUERY, startHttp } from "./support/start-http.ts";

describe("endpoint 1", () => {
  test("answers 200 with the QueryResponse, and headers that name the run and its thread", async () => {
    await using http = await startHttp();

    const response = await http.post(QUERY, { query: "hi" });

    const [run] = http.runs.runs.values();
    expect(response.status).toBe(200);
    expect(response.headers.get("Content-Type")).toBe("application/json");
    expect(response.headers.get("X-Run-Id")).toBe(run?.handle.runId);
    expect(response.headers.get("X-Thread-Id")).toBe(run?.handle.threadId);
    expect(await response.json()).toEqual(run?.result);
  });

  test("answers 200 with success false for errors of the run", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      const { runId, threadId } = run.handle;
      const said = {
        errorMessage: "Agent session not found",
        code: "agent_session_not_found",
        threadId,
        runId,
      } as const;
      run.end(
        { success: false, response: "", executionTimeMs: 1, toolInteractions: [], usage: USAGE, ...said },
        { type: "error", ...said },
      );
    };

    const response = await http.post(QUERY, { query: "hi" });

    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      success: false,
      response: "",
      toolInteractions: [],
      errorMessage: "Agent session not found",
      code: "agent_session_not_found",
      threadId: expect.any(String),
      executionTimeMs: expect.any(Number),
    });
  });

  test("answers 503 with Retry-After and X-Run-Id when the replica drains first", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => run.drain();

    const response = await http.post(QUERY, { query: "hi" });

    expect(response.status).toBe(503);
    expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(response.headers.get("X-Run-Id")).toMatch(/^run_/);
    expect(await response.json()).toMatchObject({ code: "unavailable" });
  });

  test.each([
    [undefined, false],
    ["cancel", true],
    ["continue", false],
  ])(
    "stops waiting when the client disconnects, and cancels only with X-On-Disconnect: cancel (%s)",
    async (wish, cancelWhenGone) => {
      await using http = await startHttp();
      http.runs.onBegin = () => undefined;
      using socket = await openSocket(http.port);
      const body = '{"query":"hi"}';
      socket.write(
        requestText(
          "POST",
          QUERY,
          {
            "x-api-key": API_KEY,
            "content-type": "application/json",
            "content-length": String(body.length),
            ...(wish && { "x-on-disconnect": wish }),
          },
          body,
        ),
      );
      await expect.poll(() => http.runs.runs.size, { timeout: 5000 }).toBe(1);
      const run = [...http.runs.runs.values()][0]!;
      await run.until(({ readers }) => readers.length === 1);
      expect(run.readers).toEqual([{ cancelWhenGone }]);

      socket.socket.destroy();

      await run.until(({ readers }) => readers.length === 0);
      expect(run.status).toBe("running");
      expect(http.lines).toEqual([]);
    },
  );

  test("accepts headers in any order and case, and bodies in any chunks", async () => {
    await using http = await startHttp();
    const body = '{"query":"hällo"}';
    const bytes = Buffer.from(body);
    const text = requestText("POST", QUERY, {
      "CONTENT-length": String(bytes.length),
      "x-aPI-kEY": API_KEY,
      "content-TYPE": "application/json",
      Connection: "close",
    });
    using socket = await openSocket(http.port);
    for (const byte of Buffer.concat([Buffer.from(text), bytes])) socket.write(Uint8Array.of(byte));
    expect(await socket.closed()).toMatch(/^HTTP\/1\.1 200 /);
    expect(http.runs.starts[0]?.query.query).toBe("hällo");
  });
});
