import { silentLog } from "@patchbay/functions";
import { expect, test, vi } from "vitest";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { Calls } from "../../src/connection/calls.ts";
import { createLedger } from "../../src/connection/ledger.ts";

const MINUTE = 60_000;

function ledgerAt() {
  const time = { now: 0 };
  return { time, ledger: createLedger<string, string>(() => time.now) };
}

test("a result is kept until its acknowledgement, and its id after that", () => {
  const { ledger } = ledgerAt();
  ledger.keep("c1", { frame: "result", attempt: 1, sender: "connection" }, "claim");

  ledger.acknowledge("c1");

  expect([...ledger.unacknowledged()]).toEqual([]);
  expect(ledger.finished("c1")).toBe("claim");
});

test("the acknowledgement of an earlier attempt leaves the result of a later one", () => {
  const { ledger } = ledgerAt();
  const result = { frame: "result", attempt: 2, sender: undefined };
  ledger.keep("c1", result, "claim");

  expect(ledger.acknowledge("c1", 1)).toBe(false);
  expect(ledger.kept("c1")).toBe(result);
  expect(ledger.acknowledge("c1", 2)).toBe(true);
  expect(ledger.kept("c1")).toBe(undefined);
});

/** Adds a call that ended and was acknowledged. */
function acknowledged(ledger: ReturnType<typeof createLedger<string, string>>, callId: string): void {
  ledger.keep(callId, { frame: "", attempt: 1, sender: undefined }, "claim");
  ledger.acknowledge(callId);
}

test("ids of acknowledged and refused calls are forgotten after ten minutes", () => {
  const { time, ledger } = ledgerAt();
  acknowledged(ledger, "ended");
  ledger.refuse("refused", 1);
  time.now = 11 * MINUTE;

  acknowledged(ledger, "later");

  expect(ledger.finished("ended")).toBe(undefined);
  expect(ledger.refuses("refused", 1)).toBe(false);
  expect(ledger.finished("later")).toBe("claim");
});

test("at most 10,000 acknowledged ids are remembered, and the oldest are forgotten first", () => {
  const { ledger } = ledgerAt();

  for (let i = 0; i < 25_000; i++) {
    acknowledged(ledger, `c${i}`);
    ledger.refuse(`r${i}`, 1);
  }

  const remembered = Array.from({ length: 25_000 }, (_, i) => i).filter((i) => ledger.finished(`c${i}`) !== undefined);
  const refused = Array.from({ length: 25_000 }, (_, i) => i).filter((i) => ledger.refuses(`r${i}`, 1));
  expect(remembered.length).toBeGreaterThanOrEqual(9_500);
  expect(remembered.length).toBeLessThanOrEqual(10_000);
  expect(remembered).toEqual(remembered.map((_, i) => 25_000 - remembered.length + i));
  expect(refused).toEqual(remembered);
});

test("a result without an acknowledgement is never forgotten", () => {
  const { time, ledger } = ledgerAt();
  const result = { frame: "result", attempt: 1, sender: "connection" };
  ledger.keep("c0", result, "claim");
  time.now = 60 * MINUTE;

  for (let i = 1; i < 12_000; i++) acknowledged(ledger, `c${i}`);

  expect(ledger.kept("c0")).toBe(result);
  expect(ledger.finished("c0")).toBe("claim");
  expect(ledger.unacknowledgedCount).toBe(1);
});

test("an id may have been forgotten if a newer one was", () => {
  const { time, ledger } = ledgerAt();
  acknowledged(ledger, "call_05");
  ledger.refuse("call_03", 1);
  time.now = 5 * MINUTE;
  ledger.refuse("call_04", 1);
  time.now = 11 * MINUTE;
  acknowledged(ledger, "call_09");

  const doubtful = ["call_03", "call_04", "call_05", "call_06"].filter((callId) => ledger.mayHaveForgotten(callId));

  expect(doubtful).toEqual(["call_03", "call_05"]);
});

test("an attempt that began after the newest forgotten acknowledgement was not forgotten", () => {
  const { time, ledger } = ledgerAt();
  acknowledged(ledger, "call_05");
  time.now = 15 * MINUTE;
  acknowledged(ledger, "call_09");

  const ages = { recent: MINUTE, early: 13 * MINUTE, beforeIt: 15 * MINUTE, unstated: undefined };
  const doubtful = Object.entries(ages).filter(([, ageMs]) => ledger.mayHaveForgotten("call_05", ageMs));

  // A frame that states an age may have been on its way for a minute.
  expect(doubtful.map(([name]) => name)).toEqual(["beforeIt", "unstated"]);
  expect(ledger.mayHaveForgotten("call_05", 14 * MINUTE + 1)).toBe(true);
});

test("a refusal covers its attempt and older ones, also after a refusal of an older one", () => {
  const { ledger } = ledgerAt();
  ledger.refuse("c1", 3);
  ledger.refuse("c1", 2);

  expect([2, 3, 4].map((attempt) => ledger.refuses("c1", attempt))).toEqual([true, true, false]);
});

test("a query for a call that may have been forgotten is answered with outcome_unknown", async () => {
  const sent: string[] = [];
  const connection = {
    open: true,
    isStale: false,
    send: (text: string) => void sent.push(text),
    sendIfIdle() {},
    roundTrip: () => Promise.resolve(),
    close() {},
    framesPerSecond: 200,
  };
  const service = fakeService();
  const calls = new Calls({
    service: () => service,
    concurrency: 16,
    log: silentLog,
    currentConnection: () => connection,
    inSpan: (_span, work) => work(),
  });
  const idAt = (time: number) => `call_${String(time).padStart(12, "0")}`;
  for (let time = 0; time < 10_001; time++) calls.receive(callFrame(idAt(time)), connection);
  await until(() => sent.length === 10_001, "the results");
  for (let time = 0; time < 10_001; time++) calls.acknowledge(idAt(time));
  const ask = (time: number, more: { attempt?: number; ageMs?: number } = {}) => {
    sent.length = 0;
    calls.query({ type: "callQuery", callId: idAt(time), attempt: 1, ...more }, connection);
    return sent.map((text) => JSON.parse(text) as object);
  };

  expect(ask(0)).toMatchObject([{ type: "result", callId: idAt(0), outcome: { ok: false, code: "outcome_unknown" } }]);
  expect(ask(20_000)).toMatchObject([{ type: "callState", callId: idAt(20_000), state: "unseen" }]);
  const later = performance.now() + 5 * MINUTE;
  using _clock = vi.spyOn(performance, "now").mockReturnValue(later);
  expect(ask(0, { attempt: 2, ageMs: 10 * MINUTE })).toMatchObject([{ outcome: { code: "outcome_unknown" } }]);
  // The attempt after an approval began when the acknowledgements of all forgotten calls were minutes old.
  expect(ask(0, { attempt: 2, ageMs: MINUTE })).toMatchObject([{ type: "callState", attempt: 2, state: "unseen" }]);
  expect(service.invoked).toHaveLength(10_001);
});
