import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { silentLog, type Log } from "@patchbay/functions";
import { expect, onTestFinished, test } from "vitest";
import { startConnectProxy } from "@patchbay/test-support/connect-proxy";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { readProxyVariables } from "../../src/config.ts";
import { proxyFor } from "../../src/connection/proxy.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

/** A control plane, and a proxy in front of it; both are closed when the test ends. */
async function behindProxy(options: { credentials?: string } = {}) {
  const started = await plane();
  const proxy = await startConnectProxy({ to: started.port, ...options });
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return { started, proxy };
}

/** A log that keeps its lines as text. */
function textLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const write = (message: string, fields = {}) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, info: write, warn: write, error: write, child: () => log };
  return { log, lines };
}

test("a runtime connects through the proxy of its option, which resolves the control plane's name", async () => {
  const { started, proxy } = await behindProxy();
  runtimeOf("http://patchbay.invalid:8787", fakeService(), { proxy: proxy.url });

  const { send, next } = await started.welcome();
  send(callFrame("c1"));

  expect(await next("result")).toMatchObject({ callId: "c1", outcome: { ok: true } });
  expect(proxy.requests).toEqual([{ address: "patchbay.invalid:8787" }]);
});

test("the runtime reconnects through the proxy when the tunnel is cut", async () => {
  const { started, proxy } = await behindProxy();
  runtimeOf(started.url, fakeService(), { proxy: proxy.url });
  await started.welcome();

  proxy.cut();

  await started.welcome();
  expect(proxy.requests).toHaveLength(2);
});

test("the proxy receives the credentials of its address, and the log names it without them", async () => {
  const { started, proxy } = await behindProxy({ credentials: "ann@corp:s3cret:%" });
  const { log, lines } = textLog();
  const url = new URL(proxy.url);
  [url.username, url.password] = ["ann@corp", "s3cret:%25"];
  runtimeOf(started.url, fakeService(), { proxy: url.href, log });

  await started.welcome();

  expect(proxy.requests[0]).toMatchObject({ credentials: "ann@corp:s3cret:%" });
  expect(lines[0]).toContain(`"proxy":"${proxy.url}"`);
  expect(lines.join()).not.toMatch(/s3cret|ann/);
});

test("a proxy that refuses is named with what to do, and tried again", async () => {
  const { started, proxy } = await behindProxy({ credentials: "ann:right" });
  const { log, lines } = textLog();
  proxy.refuseWith = 403;
  const runtime = runtimeOf(started.url, fakeService(), { proxy: `http://ann:right@127.0.0.1:${proxy.port}`, log });
  await until(() => lines.some((line) => line.includes("allow CONNECT")), "the refusal");
  expect(lines.at(-1)).toContain(`"proxyStatus":403`);

  proxy.refuseWith = undefined;

  await started.welcome();
  await runtime.ready;
});

test("a wrong password of the proxy is not taken for a refused runtime key", async () => {
  const { started, proxy } = await behindProxy({ credentials: "ann:right" });
  const { log, lines } = textLog();
  const runtime = runtimeOf(started.url, fakeService(), { proxy: `http://ann:wrong@127.0.0.1:${proxy.port}`, log });

  await until(() => proxy.requests.length >= 2, "a second attempt");

  expect(lines.find((line) => line.includes("credentials"))).toContain(`"proxyStatus":407`);
  expect(runtime.state).toBe("connecting");
});

test("a runtime that stops closes its connection to a proxy that never answers", async () => {
  const silent = createServer();
  onTestFinished(() => void silent.close());
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const runtime = runtimeOf("http://patchbay.invalid", fakeService(), { proxy: `http://127.0.0.1:${port}` });
  const [socket] = (await once(silent, "connection")) as [Socket];
  const closed = once(socket.resume(), "close");

  await runtime.stop();

  await closed;
});

const CONTROL_PLANE = "wss://patchbay.example";
const PROXY = "http://proxy.corp:3128";

/** The proxy for an address in an environment, as the log shows it. */
const shown = (address: string, env: Record<string, string>, option?: string | false) =>
  proxyFor(address, option, readProxyVariables(env))?.shown;

test.each<[string, string, Record<string, string>, string | undefined]>([
  ["HTTPS_PROXY serves an address with TLS", CONTROL_PLANE, { HTTPS_PROXY: PROXY }, PROXY],
  ["HTTPS_PROXY serves an address without TLS", "ws://patchbay.example", { HTTPS_PROXY: PROXY }, PROXY],
  ["HTTP_PROXY serves an address without TLS", "ws://patchbay.example", { HTTP_PROXY: PROXY }, PROXY],
  ["HTTP_PROXY does not serve an address with TLS", CONTROL_PLANE, { HTTP_PROXY: PROXY }, undefined],
  ["ALL_PROXY serves every address", CONTROL_PLANE, { ALL_PROXY: PROXY }, PROXY],
  ["lower-case names come first", CONTROL_PLANE, { https_proxy: PROXY, HTTPS_PROXY: "http://other:1" }, PROXY],
  ["an address without a scheme is one of an http: proxy", CONTROL_PLANE, { HTTPS_PROXY: "proxy.corp:3128" }, PROXY],
  ["an https: proxy", CONTROL_PLANE, { HTTPS_PROXY: "https://proxy.corp" }, "https://proxy.corp"],
  ["an empty variable counts as unset", CONTROL_PLANE, { HTTPS_PROXY: " ", ALL_PROXY: "" }, undefined],
  [
    "a control plane on this machine needs no proxy elsewhere",
    "ws://127.0.0.1:8787",
    { HTTPS_PROXY: PROXY },
    undefined,
  ],
  ["nor by name", "ws://localhost:8787", { HTTP_PROXY: PROXY }, undefined],
  [
    "a proxy on this machine serves a control plane on it",
    "ws://[::1]:8787",
    { HTTPS_PROXY: "http://localhost:3128" },
    "http://localhost:3128",
  ],
])("%s", (_, address, env, expected) => {
  expect(shown(address, env)).toBe(expected);
});

test("the option comes before the environment, and false connects directly", () => {
  const env = { HTTPS_PROXY: "http://other:1", NO_PROXY: "*" };

  expect(shown(CONTROL_PLANE, env, PROXY)).toBe(PROXY);
  expect(shown(CONTROL_PLANE, { HTTPS_PROXY: PROXY }, false)).toBeUndefined();
});

test.each<[string, string, boolean]>([
  ["patchbay.example", "patchbay.example", true],
  ["api.patchbay.example", "patchbay.example", true],
  ["api.patchbay.example", ".patchbay.example", true],
  ["api.patchbay.example", "*.patchbay.example", true],
  ["patchbay.example", "*", true],
  ["PATCHBAY.example", "a.example, Patchbay.Example ", true],
  ["notpatchbay.example", "patchbay.example", false],
  ["patchbay.example", "api.patchbay.example", false],
  ["patchbay.example", ",", false],
  ["patchbay.example", "patchbay.example:443", true],
  ["patchbay.example", "patchbay.example:8443", false],
  ["patchbay.example:8443", "patchbay.example:8443", true],
  ["10.1.2.3", "10.1.2.3", true],
  ["10.1.2.3", "10.0.0.0/8", true],
  ["10.1.2.3", "10.1.2.0/24:443", true],
  ["11.1.2.3", "10.0.0.0/8", false],
  ["10.1.2.3", "10.0.0.0/33", false],
  ["10.1.2.3", "10.0.0.0/", false],
  ["10.1.2.3", "2.3", false],
  ["[fd00::5]", "fd00::/8", true],
  ["[fd00::5]", "[fd00::5]:443", true],
  ["[fe80::5]", "fd00::/8", false],
  ["10.patchbay.example", "10.0.0.0/8", false],
])("wss://%s with NO_PROXY=%s: excepted %s", (host, list, excepted) => {
  const expected = excepted ? undefined : PROXY;
  expect(shown(`wss://${host}`, { HTTPS_PROXY: PROXY, NO_PROXY: list })).toBe(expected);
});

test.each(["socks5://ann:s3cret@proxy:1080", "http://", "http://ann:%zz@proxy:3128"])(
  "the proxy %s is refused, without its password",
  (address) => {
    const refused = () => shown(CONTROL_PLANE, { HTTPS_PROXY: address });

    expect(refused).toThrow("not the address of an HTTP or HTTPS proxy");
    expect(refused).not.toThrow(/s3cret|zz/);
  },
);
