import { expect, test } from "vitest";
import { API_KEY, QUERY, startHttp, STREAM } from "./support/start-http.ts";

const ABC = { "X-Request-Id": "abc" };

test("an answered query is one line at info with its request id, key, role and run", async () => {
  await using http = await startHttp();

  const response = await http.post(QUERY, { query: "hi", role: "clerk" }, ABC);

  expect(http.requests).toEqual([
    {
      level: "info",
      message: "request",
      fields: {
        requestId: "abc",
        method: "POST",
        route: "/agents/:agent_id/query",
        status: 200,
        agentId: "agent-1",
        keyId: `id-of-${API_KEY}`,
        keyLabel: "web shop",
        role: "clerk",
        runId: response.headers.get("X-Run-Id"),
        ms: expect.any(Number),
      },
    },
  ]);
});

test("a stream is a line when it has ended, with the time that it was open", async () => {
  await using http = await startHttp();
  const begun = Promise.withResolvers<() => void>();
  http.runs.onBegin = (run) => begun.resolve(() => run.drain());

  const response = await http.post(STREAM, { query: "hi" }, ABC);
  const drain = await begun.promise;
  expect(http.requests).toEqual([]);
  drain();
  await response.text();

  await expect.poll(() => http.requests).toMatchObject([{ fields: { requestId: "abc", status: 200 } }]);
});

test.for([
  [QUERY, { "X-API-Key": "wrong" }, { status: 401, code: "authentication_failed", route: "/agents/:agent_id/query" }],
  [QUERY.replace("agent-1", "agent-2"), {}, { status: 403, code: "agent_mismatch", agentId: "agent-1" }],
  ["/nowhere/c4n4ry?q=c4n4ry", {}, { status: 404, code: "not_found", method: "POST" }],
] as const)("a refused request to %s has its code and nothing of its address", async ([path, headers, fields]) => {
  await using http = await startHttp();

  const response = await http.post(path, { query: "c4n4ry" }, { ...ABC, ...headers });

  expect(await response.json()).toMatchObject({ requestId: "abc", code: fields.code });
  expect(http.answers).toEqual([`query ${fields.code}`]);
  expect(http.requests).toMatchObject([{ level: "info", fields: { requestId: "abc", ...fields } }]);
  expect(JSON.stringify([http.requests, http.lines])).not.toContain("c4n4ry");
});

test("what machines request every few seconds is logged at debug", async () => {
  await using http = await startHttp();

  for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json"]) await http.get(path);

  expect(http.requests.map(({ level, fields }) => [fields?.["route"], level])).toEqual([
    ["/healthz", "debug"],
    ["/readyz", "debug"],
    ["/metrics", "debug"],
    ["/openapi.json", "info"],
  ]);
  expect(http.answers).toEqual(["query succeeded"]);
});
