import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { requestFailure } from "../src/model-failure.ts";
import { createProviderFetch } from "../src/provider-fetch.ts";
import type { ChosenModel } from "@patchbay/engine/ports/model-provider";
import { providerFailure } from "../../engine/src/run/loop/model-turn.ts";

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const post = (body: string) => ({ method: "POST", headers: new Headers({ "X-Key": "k" }), body });
const read = (response: Response): Promise<string> => text(response.body as unknown as AsyncIterable<Uint8Array>);

test("requests of one client share a connection once it is free", async () => {
  const ports = new Set<number | undefined>();
  const url = await serve((request, response) => {
    ports.add(request.socket.remotePort);
    void text(request).then((body) => response.end(`${String(request.headers["x-key"])} ${body}`));
  });
  const fetch = createProviderFetch();

  expect(await read(await fetch(`${url}/a?b=c`, post("one")))).toBe("k one");
  expect(await read(await fetch(`${url}/a?b=c`, post("two")))).toBe("k two");
  expect(ports.size).toBe(1);
});

test("a request that is not sent for want of a file descriptor is not a failure of the provider", async () => {
  for (const code of ["EMFILE", "ENFILE"]) {
    const cause = Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
    const failure = requestFailure("openai", new Error("Connection error.", { cause }));

    expect([failure.kind, failure.retryable]).toEqual(["out_of_files", true]);
    const { code: ended, message } = providerFailure(
      { provider: { name: "openai" }, model: "m" } as unknown as ChosenModel,
      failure,
    );
    expect([ended, message]).toEqual([
      "internal",
      "The service could not ask the model: it has reached its limit of open files. Try again in a moment.",
    ]);
  }
});

test("an error is a complete response with its headers", async () => {
  const url = await serve((_, response) => response.writeHead(429, { "Retry-After": "2" }).end("slow down"));

  const response = await createProviderFetch()(url, post("one"));

  expect([response.ok, response.status, response.headers.get("retry-after")]).toEqual([false, 429, "2"]);
  expect(await response.text()).toBe("slow down");
});

test("an error with a cut body keeps its status", async () => {
  const url = await serve((_, response) => {
    response.writeHead(500, { "Content-Length": "100" }).write("half");
    setImmediate(() => response.destroy());
  });

  expect((await createProviderFetch()(url, post("one"))).status).toBe(500);
});

test("a redirect is an error that names its target, and the request is not repeated", async () => {
  const asked: string[] = [];
  const url = await serve((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(307, { Location: "http://elsewhere.example/loot" }).end();
  });

  const response = await createProviderFetch()(`${url}/old`, post("one"));

  expect([response.ok, response.status]).toEqual([false, 307]);
  expect(await response.text()).toContain("redirects to http://elsewhere.example/loot. Redirects are not followed");
  expect(asked).toEqual(["/old"]);
});

test("an abort rejects before the answer and ends a body after it", async () => {
  const url = await serve((request, response) => {
    if (request.url === "/begun") response.write("begun");
  });
  const [early, late] = [new AbortController(), new AbortController()];
  const fetch = createProviderFetch();

  const waiting = fetch(url, { ...post("one"), signal: early.signal });
  early.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");

  const begun = await fetch(`${url}/begun`, { ...post("two"), signal: late.signal });
  late.abort(new Error("enough"));
  await expect(read(begun)).rejects.toThrow();
});

test("a URL without a server rejects", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));

  await expect(createProviderFetch()(`http://127.0.0.1:${port}`, post("one"))).rejects.toThrow("ECONNREFUSED");
});
