import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { createKeyQuota } from "../src/handshake/runtime-keys.ts";

const MINUTE = 60_000;

function quotaAt(limits: { connectionsPerKey?: number; hellosPerMinute?: number }) {
  const time = { now: 0 };
  const quota = createKeyQuota({ connectionsPerKey: 64, hellosPerMinute: 200, ...limits }, () => time.now);
  return { time, quota };
}

/** The part of a socket that the quota uses. */
class Socket extends EventEmitter {
  OPEN = 1;
  readyState = 1;
}

function connect(quota: ReturnType<typeof createKeyQuota>, keyId: string): Socket {
  expect(quota.refuse(keyId)).toBeUndefined();
  const socket = new Socket();
  quota.add(keyId, socket as unknown as WebSocket);
  return socket;
}

test("a key may open its limit of connections, and the next one when the first is a minute old", () => {
  const { time, quota } = quotaAt({ hellosPerMinute: 200 });
  for (let i = 0; i < 200; i++) {
    time.now = i * 100;
    expect(quota.refuse("key")).toBeUndefined();
  }

  time.now = 30_500;
  expect(quota.refuse("key")).toMatchObject({ limit: "hellosPerMinute", retryAfterSeconds: 30 });
  expect(quota.refuse("other key")).toBeUndefined();
  time.now = MINUTE;

  expect(quota.refuse("key")).toBeUndefined();
  expect(quota.refuse("key")).toMatchObject({ limit: "hellosPerMinute" });
});

test("refused connections do not count", () => {
  const { time, quota } = quotaAt({ hellosPerMinute: 1 });
  quota.refuse("key");
  for (time.now = 1_000; time.now < MINUTE; time.now += 1_000) quota.refuse("key");

  expect(quota.refuse("key")).toBeUndefined();
});

test("a connection counts until it begins to close", () => {
  const { quota } = quotaAt({ connectionsPerKey: 2 });
  const [first] = [connect(quota, "key"), connect(quota, "key")];
  expect(quota.refuse("key")).toMatchObject({ limit: "connectionsPerKey", retryAfterSeconds: 5 });

  first.readyState = 2;

  expect(quota.refuse("key")).toBeUndefined();
});

test("a repeated refusal is logged once a minute", () => {
  const { time, quota } = quotaAt({ connectionsPerKey: 1 });
  connect(quota, "key");

  const first = [0, 1_000, MINUTE, MINUTE + 1].map((now) => {
    time.now = now;
    return quota.refuse("key")?.first;
  });

  expect(first).toEqual([true, false, false, true]);
});

test("an unused key is removed, and its count starts at zero", () => {
  const { time, quota } = quotaAt({ connectionsPerKey: 1, hellosPerMinute: 2 });
  const socket = connect(quota, "key");
  quota.tidy();
  expect(quota.refuse("key")).toMatchObject({ limit: "connectionsPerKey" });

  socket.emit("close");
  time.now = MINUTE;
  quota.tidy();

  expect(quota.refuse("key")).toBeUndefined();
});
