import { connect } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { type FileSource, watchOpenFiles } from "../../src/start/open-files.ts";

afterEach(() => void vi.useRealTimers());

const outOfFiles = (code = "EMFILE") => Object.assign(new Error(code), { code });

/** A process with `open` of `limit` descriptors. */
function processWith(limit: number | undefined, open: number | Error) {
  const lines: string[] = [];
  const line =
    (level: string) =>
    (message: string, fields: object = {}): void =>
      void lines.push(`${level} ${message.split(/[:;]/)[0]} ${JSON.stringify(fields)}`);
  const state = { open };
  const source: FileSource = {
    limit,
    count: async () => {
      if (state.open instanceof Error) throw state.open;
      return state.open;
    },
  };
  const files = watchOpenFiles({ log: { error: line("error"), warn: line("warn"), info: line("info") }, source });
  return Object.assign(state, { files, lines });
}

test("a shortage is logged once, with the limit, and ends when descriptors are free again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const own = processWith(2_000, 500);
  using files = own.files;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([files.short, own.lines]).toEqual([false, []]);

  own.open = outOfFiles();
  await vi.advanceTimersByTimeAsync(5_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(files.short).toBe(true);
  expect(await files.count()).toBe(2_000);
  own.open = 1_501;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(files.short).toBe(true);
  own.open = 1_500;
  await vi.advanceTimersByTimeAsync(1_000);

  expect(files.short).toBe(false);
  expect(own.lines).toEqual([
    'error out of file descriptors {"limit":2000,"reason":"EMFILE"}',
    'info file descriptors are free again {"limit":2000,"open":1500}',
  ]);
});

test.each(["EMFILE", "ENFILE"])("a socket that was not opened for %s begins a shortage", async (code) => {
  const own = processWith(2_000, 500);
  using files = own.files;
  const socket = connect({ port: 1, host: "127.0.0.1", lookup: () => {} });
  const failed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  socket.destroy(outOfFiles(code));
  await failed;

  expect(files.short).toBe(true);
  expect(own.lines).toEqual([`error out of file descriptors {"limit":2000,"reason":"${code}"}`]);
});

test("a failed connection of another kind begins no shortage", async () => {
  const own = processWith(2_000, 500);
  using files = own.files;
  const socket = connect({ port: 1, host: "127.0.0.1", lookup: () => {} });
  const failed = new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  socket.destroy(outOfFiles("ECONNREFUSED"));
  await failed;

  expect([files.short, own.lines]).toEqual([false, []]);
});

test.each([
  [256, 192],
  [1_024, 768],
  [65_536, 63_488],
  [undefined, undefined],
])("with a limit of %s, the server accepts %s connections", (limit, connections) => {
  using files = processWith(limit, 10).files;

  expect(files.connections?.most).toBe(connections);
});

test.each([
  [1_023, ['warn the limit of open files is low {"limit":1023}']],
  [1_024, []],
])("a limit of %s is named at the start if it is low", (limit, lines) => {
  const own = processWith(limit, 10);
  using _files = own.files;

  expect(own.lines).toEqual(lines);
});

test("this process has a limit and open descriptors on Linux", async () => {
  using files = watchOpenFiles({ log: { error() {}, warn() {}, info() {} } });

  const isKnown = process.platform === "linux";
  expect([(await files.count()) !== undefined, files.connections !== undefined]).toEqual([isKnown, isKnown]);
});
