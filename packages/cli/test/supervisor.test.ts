import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { RuntimeChild } from "../src/runtime-child.ts";
import { Supervisor, type SupervisorOptions } from "../src/dev/supervisor.ts";

const manifest = (version: string, name = "desk"): Manifest => ({
  name,
  instructions: version,
  preparesContext: false,
  functions: [],
});

/** A child that the test controls: it loads, connects and ends on calls of the test, or when it is killed. */
function fakeChild(order: string[], name: string) {
  const loaded = Promise.withResolvers<Manifest>();
  const connected = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<string>();
  loaded.promise.catch(() => {});
  connected.promise.catch(() => {});
  const child: RuntimeChild = {
    loaded: loaded.promise,
    connect: () => connected.promise,
    relock: () => void order.push(`relock ${name}`),
    expectClose() {},
    stop() {
      order.push(`stop ${name}`);
      ended.resolve("exited with code 0");
    },
    kill() {
      order.push(`kill ${name}`);
      loaded.reject(new Error("killed"));
      connected.reject(new Error("killed"));
      ended.resolve("was ended by SIGKILL");
    },
    ended: ended.promise,
  };
  return {
    child,
    serve(service?: string) {
      loaded.resolve(manifest(name, service));
      connected.resolve();
    },
    fail: (reason: string) => loaded.reject(new Error(reason)),
    crash: () => ended.resolve("exited with code 1"),
  };
}

function startSupervisor(overrides: Partial<SupervisorOptions> = {}) {
  const order: string[] = [];
  const children: ReturnType<typeof fakeChild>[] = [];
  let launched = Promise.withResolvers<void>();
  const supervisor = new Supervisor({
    launch() {
      const next = fakeChild(order, String.fromCodePoint(97 + children.length));
      children.push(next);
      launched.resolve();
      launched = Promise.withResolvers();
      return next.child;
    },
    target: Promise.resolve({ url: "http://127.0.0.1:1", agentId: "a", key: "k" }),
    onServing: ({ instructions }) => order.push(`serving ${instructions}`),
    onFailure: (reason, serving) => order.push(`failed ${reason} ${serving}`),
    onCrash: (how) => order.push(`crash ${how}`),
    retryMs: 1,
    ...overrides,
  });
  return { supervisor, order, children, nextLaunch: () => launched.promise };
}

test("a reload stops the old process after the new one is connected", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  const reloaded = supervisor.reload();
  expect(order).toEqual(["serving a"]);
  children[1]?.serve();
  await reloaded;

  expect(order).toEqual(["serving a", "serving b", "stop a"]);
});

test("a changed access lock is reported by the process that serves", async () => {
  const { supervisor, order, children } = startSupervisor();
  supervisor.relock();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  supervisor.relock();

  expect(order).toEqual(["serving a", "relock a"]);
});

test("a service with another name starts after the old process has stopped", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  const reloaded = supervisor.reload();
  children[1]?.serve("shop");
  await reloaded;

  expect(order).toEqual(["serving a", "stop a", "serving b"]);
});

test("a file that does not load leaves the old process serving", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  const reloaded = supervisor.reload();
  children[1]?.fail("SyntaxError");
  await reloaded;

  expect(order).toEqual(["serving a", "kill b", "failed SyntaxError true"]);
});

test("a second change replaces a process that is starting", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  const first = supervisor.reload();
  const second = supervisor.reload();
  children[2]?.serve();
  await Promise.all([first, second]);

  expect(order.filter((line) => line !== "kill b")).toEqual(["serving a", "serving c", "stop a"]);
});

test("a crashed process is restarted, also when the next one fails too", async () => {
  const { supervisor, order, children, nextLaunch } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  let launch = nextLaunch();
  children[0]?.crash();
  await launch;
  launch = nextLaunch();
  children[1]?.fail("broken");
  await launch;
  children[2]?.serve();
  await expect.poll(() => order).toContain("serving c");

  expect(order).toEqual(["serving a", "crash exited with code 1", "kill b", "failed broken false", "serving c"]);
});

test("start rejects with the failure of the first process", async () => {
  const { supervisor, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.fail("DefinitionError: roles is missing");
  await expect(started).rejects.toThrow("DefinitionError: roles is missing");
});

test("a change while the first process loads replaces it, and start resolves with the new one", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();

  const reloaded = supervisor.reload();
  children[1]?.serve();
  await reloaded;

  expect(await started).toMatchObject({ instructions: "b" });
  expect(order.filter((line) => line !== "kill a")).toEqual(["serving b"]);
});

test("start rejects with the failure of the process that replaced the first one", async () => {
  const { supervisor, children } = startSupervisor();
  const started = supervisor.start();

  const reloaded = supervisor.reload();
  children[1]?.fail("SyntaxError");
  await reloaded;

  await expect(started).rejects.toThrow("SyntaxError");
  expect(children).toHaveLength(2);
});

test("stop drains the serving process and restarts none", async () => {
  const { supervisor, order, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;

  await supervisor.stop(1000);
  await supervisor.reload();

  expect(order).toEqual(["serving a", "stop a"]);
  expect(children).toHaveLength(1);
});

test("the time limit of a stop does not hold up the end of the process", async () => {
  const { supervisor, children } = startSupervisor();
  const started = supervisor.start();
  children[0]?.serve();
  await started;
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();

  await supervisor.stop(60_000);

  expect(timers()).toBe(before);
});
