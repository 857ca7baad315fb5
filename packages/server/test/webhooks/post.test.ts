import { createServer, type AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { createNetworks } from "../../src/webhooks/networks.ts";
import { post, type Resolve } from "../../src/webhooks/post.ts";
import { startReceiver } from "./receiver.ts";

const local = createNetworks(["127.0.0.1"]);
const none = createNetworks();
const never = new AbortController().signal;

const send = (url: string, more: { networks?: typeof local; resolve?: Resolve; signal?: AbortSignal } = {}) =>
  post(url, { headers: { "X-Test": "1" }, body: "{}", networks: local, signal: never, ...more });

test("a body is posted to an address in a named network", async () => {
  await using receiver = await startReceiver();

  expect(await send(receiver.url)).toBe(204);
  expect(receiver.got).toMatchObject([{ body: "{}", headers: { "x-test": "1" } }]);
});

test.each([
  "http://127.0.0.1:PORT/",
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://2130706433:PORT/",
  "http://0x7f.1:PORT/",
  "http://127.1:PORT/",
  "https://127.0.0.1:PORT/",
  "http://0.0.0.0:PORT/",
  "https://[::1]:PORT/",
])("%s is refused where no network is named", async (form) => {
  await using receiver = await startReceiver();

  await expect(send(form.replace("PORT", String(receiver.port)), { networks: none })).rejects.toThrow(
    "private or reserved network",
  );
  expect(receiver.got).toEqual([]);
});

test("a host is resolved once, and the connection uses the addresses that were checked", async () => {
  await using receiver = await startReceiver();
  const resolve = vi.fn<Resolve>().mockResolvedValueOnce(["127.0.0.1"]).mockResolvedValue(["192.0.2.1"]);

  expect(await send(`http://hooks.example:${receiver.port}/`, { resolve })).toBe(204);
  expect(resolve).toHaveBeenCalledExactlyOnceWith("hooks.example", never);
  expect(receiver.got[0]?.headers.host).toBe(`hooks.example:${receiver.port}`);
});

test.each([
  [["10.0.0.1"], "private or reserved network"],
  [["93.184.215.14", "169.254.169.254"], "private or reserved network"],
  [["127.0.0.1", "10.0.0.1"], "private or reserved network"],
  [[], "no address"],
])("a host with the addresses %j is refused", async (addresses, message) => {
  await expect(send("https://hooks.example/", { resolve: async () => addresses })).rejects.toThrow(message);
});

test("TLS is required for a public address", async () => {
  await expect(send("http://hooks.example/", { resolve: async () => ["93.184.215.14"] })).rejects.toThrow(
    "must begin with https://",
  );
});

test("a redirect is not followed", async () => {
  await using target = await startReceiver();
  await using receiver = await startReceiver((response) => response.writeHead(307, { Location: target.url }).end());

  expect(await send(receiver.url)).toBe(307);
  expect(target.got).toEqual([]);
});

test("of a response without an end, a limited part is read", async () => {
  const closed = Promise.withResolvers<void>();
  await using receiver = await startReceiver((response) => {
    response.on("close", closed.resolve).writeHead(200);
    const fill = (): void => {
      while (!response.destroyed && response.write("x".repeat(16_384)));
    };
    response.on("drain", fill);
    fill();
  });

  expect(await send(receiver.url)).toBe(200);
  await closed.promise;
});

test.each(["resolution", "response"])("an abort ends a slow %s", async (what) => {
  await using receiver = await startReceiver(() => {});
  const abort = new AbortController();
  const resolve: Resolve = () => {
    if (what === "resolution") abort.abort(new Error("too slow"));
    return what === "resolution" ? new Promise(() => {}) : Promise.resolve(["127.0.0.1"]);
  };
  const sent = send(`http://hooks.example:${receiver.port}/`, { resolve, signal: abort.signal });
  if (what === "response") void receiver.received(1).then(() => abort.abort(new Error("too slow")));

  await expect(sent).rejects.toThrow();
});

test("a receiver that switches protocols, or closes the connection, fails the attempt", async () => {
  for (const answer of ["HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", ""]) {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(answer));
    });
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as AddressInfo;

    await expect(send(`http://127.0.0.1:${port}/`), answer).rejects.toThrow();
    await new Promise<void>((done) => void server.close(() => done()));
  }
});
