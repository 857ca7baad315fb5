import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import type { Host } from "../../src/config.ts";
import { createService } from "../../src/create.ts";
import type { CreateOptions } from "../../src/options.ts";

export const ENTER = "\r";
export const CTRL_C = "\u0003";

/** What a person types when a question is shown: keys, or a function that returns them. */
export type Answer = readonly [question: string, keys: string | (() => string)];

/** A terminal in which each answer is typed as soon as its question is shown. */
function typedTerminal(answers: readonly Answer[]) {
  const input = new PassThrough();
  const open = [...answers];
  let shown = "";
  let screen = "";
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const text = stripVTControlCharacters(chunk.toString());
      shown += text;
      screen += text;
      const next = open[0];
      // A long question is wrapped.
      if (next && shown.replaceAll(/[\s│]+/g, " ").includes(next[0])) {
        open.shift();
        shown = "";
        // A prompt reads keys only after it has drawn its question.
        setImmediate(() => input.write(typeof next[1] === "string" ? next[1] : next[1]()));
      }
      done();
    },
  });
  return { terminal: { input, output }, unasked: () => open.map(([question]) => question), screen: () => screen };
}

/** A temporary working folder in which services are created. */
export async function testFolder() {
  const path = await mkdtemp(join(tmpdir(), "patchbay-create-"));
  const runs: { command: string; folder: string }[] = [];
  return {
    path,
    /** Commands that were run. */
    runs,
    /** Creates a service without a terminal. */
    create: (options: CreateOptions = {}, host: Partial<Host> = {}) =>
      createService(options, {
        workingFolder: path,
        packageManager: "npm",
        terminal: undefined,
        async run(command, args, folder) {
          runs.push({ command: [command, ...args].join(" "), folder });
          return 0;
        },
        ...host,
      }),
    /** Creates a service in a terminal. Fails if a question of `answers` was not asked. */
    async answer(answers: readonly Answer[], options: CreateOptions = {}) {
      const { terminal, unasked, screen } = typedTerminal(answers);
      const [outcome] = await Promise.allSettled([this.create(options, { terminal })]);
      if (unasked().length > 0) throw new Error(`not asked: ${unasked().join(", ")}; shown: ${screen()}`);
      if (outcome.status === "rejected") throw outcome.reason;
      return { ...outcome.value, screen: screen() };
    },
    read: (file: string) => readFile(join(path, file), "utf8"),
    list: (folder = "") => readdir(join(path, folder)),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
