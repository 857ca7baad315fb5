import { describe, expect, test } from "vitest";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { API_KEY, QUERY, startHttp } from "./support/start-http.ts";

describe("endpoint 1", () => {
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
      await expect.poll(() => http.runs.runs.size).toBe(1);
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
