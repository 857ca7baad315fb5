import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifyWebhook, WebhookSignatureError } from "../src/index.ts";

const body = '{"id":"whd_1","type":"webhook.test","data":{},"note":"ü😀"}';
const now = () => Math.floor(Date.now() / 1000);
const hmac = (secret: string, time: number, text = body) =>
  createHmac("sha256", secret).update(`${time}.${text}`).digest("hex");
const headerOf = (secret: string, time = now()) => `t=${time},v1=${hmac(secret, time)}`;

const refusalOf = (options: Partial<Parameters<typeof verifyWebhook>[0]>) =>
  verifyWebhook({ body, secret: "s", signature: headerOf("s"), ...options }).then(
    () => "accepted",
    (error: unknown) => (error instanceof WebhookSignatureError ? error.message : error),
  );

test("a delivery is accepted as text and as bytes, with its event", async () => {
  const event = { id: "whd_1", type: "webhook.test" };

  expect(await verifyWebhook({ body, secret: "s", signature: headerOf("s") })).toMatchObject(event);
  const bytes = new TextEncoder().encode(body);
  expect(await verifyWebhook({ body: bytes, secret: "s", signature: headerOf("s") })).toMatchObject(event);
});

test("the head of an audit log is an event, and so is a type that this version does not know", async () => {
  const head = {
    id: "whd_2",
    type: "audit.head",
    data: { head: "3:ab", entries: 7, sealedTo: "2026-11-28T00:00:00.000Z" },
  };
  for (const event of [head, { id: "whd_3", type: "orders.counted", data: { orders: 3 } }]) {
    const text = JSON.stringify(event);
    const time = now();

    expect(
      await verifyWebhook({ body: text, secret: "s", signature: `t=${time},v1=${hmac("s", time, text)}` }),
    ).toEqual(event);
  }
});

test("one of several secrets and one of several signatures are enough", async () => {
  const time = now();
  const both = `t=${time},v1=${hmac("new", time)},v1=${hmac("old", time)}`;

  for (const secret of ["new", "old", ["other", "old"]])
    expect(await refusalOf({ secret, signature: both })).toBe("accepted");
  expect(await refusalOf({ secret: ["a", "b"], signature: both })).toMatch("is not one of this body");
  expect(await refusalOf({ signature: `${headerOf("s")},v2=zz` })).toBe("accepted");
});

test("another body, secret or time is refused", async () => {
  expect(await refusalOf({ body: `${body} ` })).toMatch("is not one of this body");
  expect(await refusalOf({ secret: "S" })).toMatch("is not one of this body");
  expect(await refusalOf({ secret: [] })).toMatch("is not one of this body");
  const time = now();
  expect(await refusalOf({ signature: `t=${time - 1},v1=${hmac("s", time)}` })).toMatch("is not one of this body");
});

test("a delivery is refused outside of the tolerance, before and after now", async () => {
  for (const off of [-310, 310]) {
    expect(await refusalOf({ signature: headerOf("s", now() + off) })).toMatch("more than 300 s before or after");
    expect(await refusalOf({ signature: headerOf("s", now() + off), toleranceSeconds: 600 })).toBe("accepted");
  }
  expect(await refusalOf({ toleranceSeconds: Number.NaN })).toMatch("before or after");
});

test.each([
  undefined,
  null,
  "",
  "v1=00",
  `t=1`,
  `t=x,v1=${"0".repeat(64)}`,
  `t=-1,v1=${"0".repeat(64)}`,
  [],
  `t=1,t=2,v1=${"0".repeat(64)}`,
  `t=1,v1=${"0".repeat(63)}`,
  `t=1,v1=${"z".repeat(64)}`,
  `t=1,v2=${"0".repeat(64)}`,
])("the header %j is refused", async (signature) => {
  expect(await refusalOf({ signature })).toMatch("missing or malformed");
});
