import { expect, test } from "vitest";
import { parseNatsAddresses, formatAddress } from "../../src/bus/nats-server.ts";

const LOCAL = { host: "127.0.0.1", port: 4222, tls: false, login: undefined };

test.each([
  ["nats://127.0.0.1:4222", [LOCAL]],
  ["127.0.0.1", [LOCAL]],
  ["nats://127.0.0.1:4222/", [LOCAL]],
  ["tls://bus.example:443", [{ host: "bus.example", port: 443, tls: true, login: undefined }]],
  ["nats://[::1]:5000", [{ ...LOCAL, host: "::1", port: 5000 }]],
  ["nats://ann:p%40ss%2C%3A1234@127.0.0.1:4222", [{ ...LOCAL, login: { user: "ann", pass: "p@ss,:1234" } }]],
  ["nats://s3cret@127.0.0.1:4222", [{ ...LOCAL, login: { token: "s3cret" } }]],
  [
    "nats://ann:one@a.example:4222, tls://b.example",
    [
      { host: "a.example", port: 4222, tls: false, login: { user: "ann", pass: "one" } },
      { host: "b.example", port: 4222, tls: true, login: undefined },
    ],
  ],
])("%s is parsed", (text, addresses) => {
  expect(parseNatsAddresses(text)).toEqual(addresses);
});

test.each([
  "",
  "nats://",
  "ws://127.0.0.1:8080",
  "nats://127.0.0.1:99999",
  "nats://127.0.0.1:4222/x",
  "nats://a,,nats://b",
  "nats://ann:100%@a",
])("%j is refused with the expected form", (text) => {
  expect(() => parseNatsAddresses(text)).toThrow(/nats:\/\/HOST:PORT/);
});

test.each(["nats://ann:s3cret@127.0.0.1:x", "http://ann:s3cret@127.0.0.1", "nats://s3cret:s3cret@h:4222/s"])(
  "the error about %s contains no credentials",
  (text) => {
    expect(() => parseNatsAddresses(text)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("s3cret") as string }) as Error,
    );
  },
);

test("formatAddress omits the credentials", () => {
  expect(parseNatsAddresses("nats://ann:s3cret@127.0.0.1:4222").map(formatAddress)).toEqual(["127.0.0.1:4222"]);
});
