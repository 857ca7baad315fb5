import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { createKeyQuota } from "../../src/gateway/key-quota.ts";

const MINUTE = 60_000;

function quotaAt(limits: { connectionsPerKey?: number; hellosPerMinute?: number }) {
  const time = { now: 0 };
  const quota = createKeyQuota({ connectionsPerKey: 64, hellosPerMinute: 200, ...limits }, () => time.now);
  return { time, quota };
}

/** A socket as far as the quota looks at it. */
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

test("a key may open its connections of a minute, and the next one when the first is a minute old", () => {
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

test("refused connections do not count against the minute", () => {
  const { time, quota } = quotaAt({ hellosPerMinute: 1 });
  quota.refuse("key");
  for (time.now = 1_000; time.now < MINUTE; time.now += 1_000) quota.refuse("key");

  expect(quota.refuse("key")).toBeUndefined();
});

test("a connection counts until its close begins", () => {
  const { quota } = quotaAt({ connectionsPerKey: 2 });
  const [first] = [connect(quota, "key"), connect(quota, "key")];
  expect(quota.refuse("key")).toMatchObject({ limit: "connectionsPerKey", retryAfterSeconds: 5 });

  first.readyState = 2;

  expect(quota.refuse("key")).toBeUndefined();
});

test("a limit that a key goes on reaching is worth a line of the log once a minute", () => {
  const { time, quota } = quotaAt({ connectionsPerKey: 1 });
  connect(quota, "key");

  const first = [0, 1_000, MINUTE, MINUTE + 1].map((now) => {
    time.now = now;
    return quota.refuse("key")?.first;
  });

  expect(first).toEqual([true, false, false, true]);
});

test("a key that is no longer used is forgotten, and counts from the beginning", () => {
  const { time, quota } = quotaAt({ connectionsPerKey: 1, hellosPerMinute: 2 });
  const socket = connect(quota, "key");
  quota.tidy();
  expect(quota.refuse("key")).toMatchObject({ limit: "connectionsPerKey" });

  socket.emit("close");
  time.now = MINUTE;
  quota.tidy();

  expect(quota.refuse("key")).toBeUndefined();
});
