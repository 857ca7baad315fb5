import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { watchSources } from "../src/dev/supervisor.ts";
import { until } from "@patchbay/test-support/inbox";
import { startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const READY = /^\{"ready".*\}$/m;

async function folderWith(files: Readonly<Record<string, string>>) {
  const folder = await temporaryFolder();
  const save = async (name: string, text: string) => {
    await mkdir(dirname(join(folder.path, name)), { recursive: true });
    await writeFile(join(folder.path, name), text);
  };
  for (const [name, text] of Object.entries(files)) await save(name, text);
  return { path: folder.path, save, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

/**
 * Repeats a change until its effect is seen: the watching of a file begins without a sign. The pauses grow, because each change
 * starts the loading again.
 */
async function changeUntil(seen: Promise<string>, change: (nth: number) => Promise<void>): Promise<void> {
  const changed = async (nth: number) => {
    await change(nth);
    await sleep(1000 * 2 ** nth, undefined, { ref: false });
    return false;
  };
  for (let nth = 1; !(await Promise.race([seen.then(() => true), changed(nth)])); nth++);
}

/** A service in `app` that prints the value of `code`, so that each load is seen. */
const printing = (code: string) => serviceSource({ before: `${code}\nconsole.log("loaded " + value);` });

const changes: [what: string, code: string, name: string, before: string, after: string][] = [
  [
    "a file outside the folder that a path of tsconfig.json names",
    'import { value } from "@lib/words";',
    "lib/words.ts",
    'export const value: string = "first";\n',
    'export const value: string = "second";\n',
  ],
  [
    "imported JSON",
    'import { value } from "./data.json";',
    "app/data.json",
    '{ "value": "first" }',
    '{ "value": "second" }',
  ],
  [
    "tsconfig.json",
    'import { value } from "@word";',
    "app/tsconfig.json",
    '{ "compilerOptions": { "paths": { "@word": ["./first.ts"] } } }',
    '{ "compilerOptions": { "paths": { "@word": ["./second.ts"] } } }',
  ],
  [".env", "const value = process.env.WORD;", ".env", "WORD=first\n", "WORD=second\n"],
];

test.each(changes)("dev reloads after a change of %s", async (_what, code, name, before, after) => {
  await using folder = await folderWith({
    "package.json": '{ "type": "commonjs" }',
    "app/service.ts": printing(code),
    "app/first.ts": 'export const value = "first";\n',
    "app/second.ts": 'export const value = "second";\n',
    "app/tsconfig.json": '{ "compilerOptions": { "paths": { "@lib/*": ["../lib/*"] } } }',
    [name]: before,
  });
  await using dev = startCommand(["dev", "app/service.ts", "--port", "0", "--json"], { cwd: folder.path });
  await dev.seen(READY);
  await dev.seen("loaded first");

  const reloaded = dev.seen(/loaded second[^]*serving 1 function/);

  await changeUntil(reloaded, (nth) => folder.save(name, after + "\n".repeat(nth)));
});

const NEVER = 'setInterval(() => {}, 1000);\nconsole.log("waiting");\nawait new Promise(() => {});\n';

test("a change of a file that never finishes loading starts it again", async () => {
  await using folder = await folderWith({ "service.ts": serviceSource({ before: NEVER }) });
  await using dev = startCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });
  await dev.seen("waiting");

  const ready = dev.seen(READY);
  await changeUntil(ready, (nth) => folder.save("service.ts", `${serviceSource()}// ${nth}\n`));

  expect(await ready).toContain("baseUrl");
});

test("dev does not reload after a change of a test or of the access lock", async () => {
  await using folder = await folderWith({
    "service.ts": serviceSource({ before: 'console.log("loaded once");' }),
    "service.test.ts": "first",
    "access.lock.json": "{}",
  });
  await using dev = startCommand(["dev", "--port", "0", "--json"], { cwd: folder.path });
  await dev.seen(READY);
  const reloaded = dev.seen(/serving 1 function/);
  const file = join(folder.path, "service.ts");
  const seen: string[] = [];
  const note = (what: string) => () => void seen.push(what);
  const options = { dataDir: join(folder.path, "data"), onChange: note("reload"), onLock: note("lock") };
  const watching = await watchSources(file, options);
  watching.addLock(join(folder.path, "access.lock.json"));

  await folder.save("service.test.ts", "second");
  await changeUntil(
    until(() => seen.length > 0, "a change").then(() => "seen"),
    (nth) => folder.save("access.lock.json", `{ "nth": ${nth} }`),
  );
  expect(seen).not.toContain("reload");
  // A change that reloads shows that `dev` watches, and that it has loaded once before.
  await changeUntil(reloaded, (nth) => folder.save("service.ts", `${serviceSource()}// ${nth}\n`));
  await watching.close();
  dev.process.kill("SIGKILL");

  expect((await dev.finished).stderr.match(/loaded once/g)).toHaveLength(1);
});

test.each([
  ["access", ["access"]],
  ["connect", ["connect", "service.ts", "--url", "http://127.0.0.1:9", "--agent", "agt_1", "--key", "key"]],
  ["dev", ["dev", "--port", "0"]],
])("%s can be stopped while the file loads", async (_name, args) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    await using folder = await folderWith({ "service.ts": serviceSource({ before: NEVER }) });
    await using running = startCommand(args, { cwd: folder.path });
    await running.seen("waiting");
    running.process.kill(signal);
    expect((await running.finished).stderr).not.toContain("error:");
  }
});

test("a file that is reported after the end of the watching is ignored", async () => {
  await using folder = await folderWith({ "service.ts": serviceSource(), "data/x.json": "{}" });
  const file = join(folder.path, "service.ts");
  const watching = await watchSources(file, {
    dataDir: join(folder.path, "data"),
    onChange: () => {},
    onLock: () => {},
  });
  const ended = watching.close();
  watching.add(join(folder.path, "data/x.json"));
  await ended;
  watching.add(join(folder.path, "data/y.json"));
});
