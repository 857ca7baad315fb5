import { defineFunction, defineService } from "@patchbay/functions";
import type { QueryResponse } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { promptOf, startStandIn, WIRES, type Script, type Wire } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const MARKER = "[Earlier turns of this conversation were left out to save room.]";
const QUERIES = 60;

const noInput = { type: "object", properties: {} };
const answered = (bytes: number) => "All is well. ".repeat(Math.ceil(bytes / 13));

/** One function for clerks that returns `bytes` of text, and others with long declarations. */
const archive = (resultBytes: number) =>
  defineService({
    name: "archive",
    instructions: "The archive keeps what was said. ".repeat(20),
    functions: [
      defineFunction({
        name: "read_page",
        description: "Reads the newest page of the archive.",
        input: { type: "object", properties: { page: { type: "integer" } } },
        roles: ["clerk"],
        handler: () => answered(resultBytes),
      }),
      ...Array.from({ length: 12 }, (_, i) =>
        defineFunction({
          name: `shelf_${i}`,
          description: `Lists shelf ${i} of the archive. `.repeat(60),
          input: noInput,
          roles: ["clerk"],
          handler: () => null,
        }),
      ),
    ],
  });

/** Makes `calls` parallel calls, then gives a long answer, with a thought before each. */
const reading =
  (calls: number, answerBytes: number): Script =>
  ({ step }) =>
    step === 0
      ? {
          thoughts: ["The archive knows."],
          calls: Array.from({ length: calls }, (_, page) => ({ name: "read_page", arguments: { page } })),
        }
      : { thoughts: ["That will do."], text: answered(answerBytes) };

/** A thread of queries on a wire, each with one call. */
async function talk(wire: Wire, { historyTokens, bytes }: { historyTokens?: number; bytes: number }) {
  await using standIn = await startStandIn(wire, reading(1, bytes / 2), { countsTokens: true });
  await using system = await startSystem({ service: archive(bytes / 2), providers: standIn.config });
  if (historyTokens !== undefined)
    await system.plane.admin.updateAgent(system.agentId, { settings: { historyTokens } });
  const answers: QueryResponse[] = [];
  for (let i = 0; i < QUERIES; i++) {
    const threadId = answers.at(-1)?.threadId;
    const asked = { role: "clerk", contextJson: JSON.stringify({ day: i }), ...(threadId && { threadId }) };
    answers.push(await system.query(`Question ${i}.`, asked));
  }
  expect(standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect(answers.filter(({ success }) => !success)).toEqual([]);
  return { answers, requests: standIn.requests };
}

/** The share of the input that the provider read from its cache. */
function cachedShare(answers: readonly QueryResponse[]): number {
  const sum = (pick: (answer: QueryResponse) => number): number => answers.reduce((all, one) => all + pick(one), 0);
  return sum(({ usage }) => usage.cachedInputTokens) / sum(({ usage }) => usage.inputTokens);
}

const earlierTurns = ({ warnings = [] }: QueryResponse): string[] =>
  warnings.filter((warning) => warning.startsWith("Earlier turns"));

test.each(WIRES)("a thread of 60 queries that fits is sent completely on the wire %s", async (wire) => {
  const { answers, requests } = await talk(wire, { bytes: 1_500 });

  const users = requests.at(-1)!.summary.messages.filter(({ role }) => role === "user");
  expect(users[0]!.text).toContain("Question 0.");
  expect(users).toHaveLength(QUERIES);
  expect(JSON.stringify(requests.map(({ body }) => body))).not.toContain(MARKER);
  expect(answers.flatMap(earlierTurns)).toEqual([]);
  expect(cachedShare(answers.slice(-20))).toBeGreaterThanOrEqual(0.8);
});

test.each(WIRES)("a thread of 60 queries that exceeds its budget keeps its cache on the wire %s", async (wire) => {
  const { answers, requests } = await talk(wire, { historyTokens: 40_000, bytes: 4_000 });

  const users = requests.at(-1)!.summary.messages.filter(({ role }) => role === "user");
  expect(users[0]!.text).not.toContain("Question 0.");
  expect(users.at(-1)!.text).toContain(MARKER);
  expect(users.at(-1)!.text).toContain("Question 59.");
  const warned = answers.map((answer) => earlierTurns(answer).length);
  expect(warned.at(0)).toBe(0);
  expect(warned.slice(-20)).toEqual(Array.from({ length: 20 }, () => 1));
  // The model receives a marker exactly when the client receives a warning.
  const marked = answers.map((_, at) => JSON.stringify(requests[2 * at]!.body).includes(MARKER));
  expect(marked).toEqual(warned.map((count) => count === 1));
  expect(cachedShare(answers.slice(-20))).toBeGreaterThanOrEqual(0.8);
});

test("many parallel calls keep Claude's cache usable", async () => {
  // Claude looks 20 blocks back from a breakpoint, and this turn has 24.
  await using standIn = await startStandIn("anthropic", reading(12, 300), { countsTokens: true });
  await using system = await startSystem({ service: archive(300), providers: standIn.config });
  const { threadId } = await system.query("Question 0.", { role: "clerk" });
  const answers: QueryResponse[] = [];
  for (let i = 1; i < 10; i++) answers.push(await system.query(`Question ${i}.`, { role: "clerk", threadId }));

  expect(standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  expect(answers.flatMap(({ toolInteractions }) => toolInteractions)).toHaveLength(9 * 12);
  expect(cachedShare(answers)).toBeGreaterThanOrEqual(0.8);
});

test.each(WIRES)(
  "a new thread reads the part shared with threads of its role from the cache on the wire %s",
  async (wire) => {
    await using standIn = await startStandIn(wire, () => ({ text: "All is well." }), { countsTokens: true });
    await using system = await startSystem({ service: archive(1), providers: standIn.config });
    const first = await system.query("One.", { role: "clerk" });

    const second = await system.query("Two.", { role: "clerk" });

    expect(first.usage.cachedInputTokens).toBe(0);
    expect(second.threadId).not.toBe(first.threadId);
    expect(cachedShare([second])).toBeGreaterThanOrEqual(0.9);
  },
);

test.each(WIRES)("requests of a role begin with the same bytes on the wire %s", async (wire) => {
  await using standIn = await startStandIn(wire, reading(1, 200));
  await using system = await startSystem({ service: archive(200), providers: standIn.config });
  const ask = async (query: string, more: object = {}) =>
    await system.query(query, { role: "clerk", contextJson: JSON.stringify({ query }), ...more });

  const { threadId } = await ask("One.");
  await ask("Two.", { threadId });
  await ask("Three.", { threadId });
  await ask("Another thread.");
  await system.query("Another role.", { role: "guest" });

  expect(standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  const prompts = standIn.requests.map(({ body }) => promptOf(wire, body));
  const [one, oneGoesOn, two, twoGoesOn, three, , other, otherGoesOn] = prompts as [string[], ...string[][]];
  // Turns of a run: each request begins with the previous one.
  for (const [before, after] of [
    [one, oneGoesOn!],
    [two!, twoGoesOn!],
    [other!, otherGoesOn!],
  ])
    expect(after!.slice(0, before!.length)).toEqual(before);
  // Queries of a thread: earlier queries do not change once they are history.
  const historyOfTwo = two!.slice(0, -1);
  expect(historyOfTwo.length).toBeGreaterThan(one.length);
  expect(three!.slice(0, historyOfTwo.length)).toEqual(historyOfTwo);
  // Threads of a role: all but the query.
  expect(other!.slice(0, -1)).toEqual(one.slice(0, -1));
  expect(one.length).toBeGreaterThanOrEqual(wire === "gemini" ? 3 : 14);
  // The key by which OpenAI selects the machine that caches a prompt.
  const keys = standIn.requests.map(({ body }) => body["prompt_cache_key"]);
  expect(new Set(keys.slice(0, 8)).size).toBe(1);
  if (wire.startsWith("openai")) expect(keys.at(-1)).not.toBe(keys[0]);
});
