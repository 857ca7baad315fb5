import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { QueryTarget } from "../client/query-client.ts";
import { readEvents } from "../client/sse.ts";
import { reasonOf } from "../failure.ts";
import { fail, ok, warn, type Finding } from "./check.ts";

const WAIT_MS = 10_000;
const SKEW_MS = 5_000;

/** Whether the service answers, and whether its clock agrees with ours. */
export async function checkReachable(url: string): Promise<Finding[]> {
  const fix = "Check the address, that the service runs, and what stands between (proxy, firewall).";
  try {
    const startedAt = Date.now();
    const response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(WAIT_MS) });
    const tookMs = Date.now() - startedAt;
    await response.text();
    if (!response.ok) return [fail("service", `${url}/healthz answered ${response.status}`, fix)];
    const skewMs = Date.parse(response.headers.get("Date") ?? "") - (startedAt + tookMs / 2);
    const reached = ok("service", `${url} answers in ${tookMs} ms`);
    if (Number.isNaN(skewMs)) return [reached];
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    if (Math.abs(skewMs) <= SKEW_MS) return [reached, ok("clock", "agrees with the service's")];
    return [reached, warn("clock", `differs from the service's by ${seconds} s`, "Set both machines' clocks by NTP.")];
  } catch (error) {
    return [fail("service", `${url} does not answer: ${reasonOf(error)}`, fix)];
  }
}

/** Whether a WebSocket upgrade gets through: without a key the service itself must refuse it with 401. */
export async function checkUpgrade(url: string): Promise<Finding> {
  const target = new URL(`${url}/functions/connect`);
  const send = target.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "cGF0Y2hiYXkgZG9jdG9yIQ==",
  };
  const status = await new Promise<number | string>((resolve) => {
    const request = send(target, { headers, timeout: WAIT_MS }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("timeout", () => request.destroy(new Error("no answer in time")));
    request.on("error", (error) => resolve(error.message));
    request.end();
  });
  if (status === 401) return ok("WebSocket", "upgrades reach the service");
  const fix = "Let the proxy pass Upgrade and Connection headers on /functions/connect, with HTTP/1.1.";
  return fail("WebSocket", `an upgrade of /functions/connect gave ${status} instead of the service's 401`, fix);
}

/** Whether the key opens this agent. */
export async function checkKey({ url, agent, key }: QueryTarget): Promise<Finding> {
  const response = await fetch(`${url}/agents/${encodeURIComponent(agent)}/threads?limit=1`, {
    headers: { "X-API-Key": key },
    signal: AbortSignal.timeout(WAIT_MS),
  }).catch((error: unknown) => reasonOf(error));
  if (typeof response === "string") return fail("key", response, "Try again.");
  await response.text();
  if (response.ok) return ok("key", `opens agent ${agent}`);
  if (response.status === 401)
    return fail("key", "is unknown or revoked", "Make one on the server: patchbay keys create --agent ID.");
  if (response.status === 403)
    return fail("key", `does not belong to agent ${agent}`, "Use that agent's own key, or the key's own agent.");
  return fail("key", `the service answered ${response.status}`, "Look at the service's log.");
}

/** Asks one short query as a stream, to see that functions are connected and that events come as they happen. */
export async function checkStream({ url, agent, key }: QueryTarget): Promise<Finding[]> {
  const base = `${url}/agents/${encodeURIComponent(agent)}`;
  const headers = { "X-API-Key": key, "Content-Type": "application/json", Accept: "text/event-stream" };
  const body = JSON.stringify({ query: "Answer with the one word: ready. Call no function." });
  try {
    const startedAt = performance.now();
    const response = await fetch(`${base}/query-stream`, {
      method: "POST",
      headers,
      body,
      signal: AbortSignal.timeout(60_000),
    });
    const openedMs = performance.now() - startedAt;
    if (!response.ok || !response.body)
      return [fail("query", `the stream answered ${response.status}`, "Look at the service's log.")];
    const last = await lastEvent(response.body);
    const tookMs = performance.now() - startedAt;
    if (last?.threadId)
      await fetch(`${base}/threads/${last.threadId}`, { method: "DELETE", headers: { "X-API-Key": key } });
    return [queryFinding(last), streamFinding({ openedMs, tookMs })];
  } catch (error) {
    return [fail("query", reasonOf(error), "Look at the service's log.")];
  }
}

interface LastEvent {
  type: string;
  threadId?: string;
  code?: string;
  errorMessage?: string;
}

async function lastEvent(bytes: AsyncIterable<Uint8Array>): Promise<LastEvent | undefined> {
  let last: LastEvent | undefined;
  for await (const { data } of readEvents(bytes)) last = JSON.parse(data) as LastEvent;
  return last;
}

function queryFinding(last: LastEvent | undefined): Finding {
  if (last?.type === "finalResponse") return ok("query", "functions are connected and a query is answered");
  if (last?.code === "agent_session_not_found")
    return fail(
      "query",
      "no functions are connected",
      "Start them: patchbay connect FILE --url URL --agent ID --key RUNTIME_KEY.",
    );
  const reason = last?.errorMessage ?? "the stream ended without a last event";
  return fail(
    "query",
    reason,
    "Look at the service's log, and at proxies that cut connections (300 s must be allowed).",
  );
}

/** A proxy that buffers holds even the headers back until the last event is there. */
function streamFinding({ openedMs, tookMs }: { openedMs: number; tookMs: number }): Finding {
  const [opened, took] = [Math.round(openedMs), Math.round(tookMs)];
  if (tookMs - openedMs < 20 && tookMs > 500) {
    const fix = "Turn buffering off in the proxy for /agents (nginx: proxy_buffering off).";
    return warn("stream", `opened after ${opened} ms and ended at once: something seems to buffer it`, fix);
  }
  return ok("stream", `opened after ${opened} ms, ended after ${took} ms`);
}
