import { expect, test } from "vitest";
import { createOpenStreams, type StreamOwner } from "../../src/query/open-streams.ts";
import { silentMetrics } from "@patchbay/engine/ports/metrics";

const limits = { streamsPerKey: 1, streamsPerRun: 100, streamsPerOrganisation: 100 };
const access = { hold: () => ({ [Symbol.dispose]() {} }) };

const ownerOf = (keyId: string): StreamOwner => ({ orgId: "org", keyId, access: { kind: "credential", id: keyId } });
const staying = new AbortController().signal;

/** Streams of one slot for each key, with the order in which those who wait get theirs. */
function openStreams() {
  const streams = createOpenStreams({ limits, access, metrics: silentMetrics });
  const admitted: string[] = [];
  return {
    admitted,
    enter: (keyId: string, signal = staying) => streams.enter(ownerOf(keyId), { wait: true, signal }),
    async wait(name: string, keyId: string, signal = staying) {
      const slot = await streams.enter(ownerOf(keyId), { wait: true, signal });
      admitted.push(name);
      return slot;
    },
  };
}

test("waiting streams get slots in their order of arrival, separately for each key", async () => {
  const { enter, wait, admitted } = openStreams();
  const [a, b] = [await enter("a"), await enter("b")];
  const waiting = [wait("a1", "a"), wait("b1", "b"), wait("a2", "a")];

  b[Symbol.dispose]();
  await waiting[1];
  a[Symbol.dispose]();
  (await waiting[0])![Symbol.dispose]();
  await waiting[2];

  expect(admitted).toEqual(["b1", "a1", "a2"]);
});

test("a client that disconnects while it waits takes no slot", async () => {
  const { enter, wait, admitted } = openStreams();
  const first = await enter("a");
  const leaving = new AbortController();
  const [gone, stays] = [wait("gone", "a", leaving.signal), wait("stays", "a")];

  leaving.abort(new Error("the client left"));
  await expect(gone).rejects.toThrow("the client left");
  first[Symbol.dispose]();
  await stays;

  expect(admitted).toEqual(["stays"]);
});

test("a slot is freed once, even when it is disposed twice", async () => {
  const { enter } = openStreams();
  const first = await enter("a");
  first[Symbol.dispose]();
  const second = await enter("a");
  first[Symbol.dispose]();
  const leaving = AbortSignal.abort(new Error("full"));

  await expect(enter("a", leaving)).rejects.toThrow("full");
  second[Symbol.dispose]();
});
