import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import type { RateLimitState } from "../../src/http/query/deps.ts";
import { ACCESS_TOKEN, API_KEY, METERED_KEY, QUERY, RUNTIME_KEY, startHttp, STREAM } from "./support/start-http.ts";

const USED_UP: RateLimitState = { allowed: false, limit: 60, remaining: 0, resetSeconds: 29.2 };
const rateLimit = async (_org: string, tier: string) => (tier === "sandbox" ? undefined : USED_UP);

describe.each([QUERY, STREAM])("POST %s", (path) => {
  test.each([
    ["missing", undefined],
    ["empty", ""],
    ["unknown or malformed", "service_live_nobody"],
    ["far too long", "k".repeat(5000)],
    ["an access token", ACCESS_TOKEN],
    ["a runtime key", RUNTIME_KEY],
  ])("answers 401 'Authentication failed' when the key is %s", async (_what, key) => {
    await using http = await startHttp();

    const response = await fetch(http.url + path, {
      method: "POST",
      body: "{",
      ...(key !== undefined && { headers: { "X-API-Key": key } }),
    });

    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      success: false,
      errorMessage: "Authentication failed",
      code: "authentication_failed",
    });
  });

  test("accepts neither an access token nor an API key as a Bearer token", async () => {
    await using http = await startHttp();
    for (const token of [ACCESS_TOKEN, API_KEY]) {
      const response = await fetch(http.url + path, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
      expect(response.status).toBe(401);
    }
  });

  test("answers 401 before 403 before 429 before 415 before 413 before 400", async () => {
    await using http = await startHttp({ rateLimit });
    const large = "x".repeat(LIMITS.bodyBytes + 1);
    const wrong = { "Content-Type": "text/plain" };

    const statuses = [
      await http.post(path.replace("agent-1", "other"), large, { ...wrong, "X-API-Key": "unknown" }),
      await http.post(path.replace("agent-1", "other"), large, { ...wrong, "X-API-Key": METERED_KEY }),
      await http.post(path, large, { ...wrong, "X-API-Key": METERED_KEY }),
      await http.post(path, large, wrong),
      await http.post(path, large),
      await http.post(path, "{"),
    ].map((response) => response.status);

    expect(statuses).toEqual([401, 403, 429, 415, 413, 400]);
  });

  test("answers 429 with Retry-After and the RateLimit headers when the tier is used up", async () => {
    await using http = await startHttp({ rateLimit });

    const response = await http.post(path, { query: "hi" }, { "X-API-Key": METERED_KEY });

    expect(response.status).toBe(429);
    expect(response.headers.get("Retry-After")).toBe("30");
    expect(response.headers.get("RateLimit-Policy")).toBe('"default";q=60;w=60');
    expect(response.headers.get("RateLimit")).toBe('"default";r=0;t=30');
    expect(await response.json()).toMatchObject({ code: "rate_limited" });
    expect(http.runs.starts).toHaveLength(0);
  });

  test("adds the RateLimit header to the response of an accepted query", async () => {
    await using http = await startHttp({
      rateLimit: async () => ({ allowed: true, limit: 600, remaining: 599, resetSeconds: 60 }),
    });

    const response = await http.post(path, { query: "hi" });

    expect(response.status).toBe(200);
    expect(response.headers.get("RateLimit")).toBe('"default";r=599;t=60');
  });

  test("has no rate limit and no such headers in a sandbox", async () => {
    await using http = await startHttp({ rateLimit });

    const response = await http.post(path, { query: "hi" });

    expect(response.status).toBe(200);
    expect(response.headers.has("RateLimit")).toBe(false);
    expect(response.headers.has("RateLimit-Policy")).toBe(false);
  });
});
