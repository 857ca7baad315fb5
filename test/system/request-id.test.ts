import { type LogFields, logTo } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { until } from "../support/inbox.ts";
import { callsOnce } from "../support/call-models.ts";
import { startSystem } from "../support/system.ts";
import { createTracedService } from "../support/traced-service.ts";

type System = Awaited<ReturnType<typeof startSystem>>;

const ABC = { "x-request-id": "abc" };

test("a request is found by its id in the log, an error body, the list of runs and the console", async () => {
  const lines: LogFields[] = [];
  const log = logTo((_level, message, fields) => lines.push({ message, ...fields }));
  await using system = await startSystem({ service: createTracedService().service, model: callsOnce("look_up"), log });
  const { agentId, orgId, plane } = system;

  const { runId } = await system.query("Look it up", { role: "clerk" }, ABC);
  const refused = await system.post(`/agents/${agentId}/query`, { query: 1 }, ABC);

  expect(await refused.json()).toMatchObject({ code: "invalid_request", requestId: "abc" });
  expect((await plane.admin.runsOfRequest("abc")).items).toMatchObject([{ runId, agentId, requestId: "abc" }]);
  expect(await (await system.get(`/agents/${agentId}/runs/${runId}`)).json()).toMatchObject({ requestId: "abc" });
  expect(await searchedAs(plane, orgId, "abc")).toMatchObject({ found: [{ kind: "run", id: runId, agentId }] });
  const found = () => lines.filter(({ requestId }) => requestId === "abc");
  await until(() => found().length === 3, "the three lines of the requests and the run");
  expect(found()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ message: "run ended", runId, agentId }),
      expect.objectContaining({ message: "request", status: 200, runId }),
      expect.objectContaining({ message: "request", status: 400, code: "invalid_request" }),
    ]),
  );
});

/** What the search of the console answers to its first member. */
async function searchedAs({ url, admin }: System["plane"], orgId: string, q: string): Promise<unknown> {
  const { path } = await admin.members.signInLink(orgId);
  const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin", origin: url };
  const body = JSON.stringify({ link: path.split("#")[1] });
  const signedIn = await fetch(`${url}/api/links/open`, { method: "POST", headers, body });
  const cookie = signedIn.headers
    .getSetCookie()
    .map((set) => set.split(";")[0])
    .join("; ");
  return await (await fetch(`${url}/api/search?q=${q}`, { headers: { ...headers, cookie } })).json();
}
