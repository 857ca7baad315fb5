import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";
import { describePacked } from "../../release/pack.ts";
import { createProject, type Project } from "./project.ts";

const registry = inject("registry");
const page = readFileSync(new URL("../../docs/tutorial.md", import.meta.url), "utf8");
/** The page says that readers have the folder of their clone instead. */
const CLONE = "/path/to/patchbay";

/** The page's blocks: commands (`sh`), changes of a file (`diff`), and outputs. */
const blocks = [...page.matchAll(/^```(sh|diff|)\n(.*?)\n```$/gms)].map(([, kind = "", text = ""]) => ({ kind, text }));

const trimmed = (text: string) => text.replaceAll(/^[ \t]+|[ \t\r]+$/gm, "");

/** Matches an output that has these lines one below the other. "…" is any text, and on a line of its own any lines. */
function patternOf(shown: string): RegExp {
  const lines = trimmed(shown)
    .split("\n")
    .map((line) => {
      if (line === "…") return "(?:.*\\n)*?";
      return `${line.split("…").map(RegExp.escape).join(".*")}\\n`;
    });
  return new RegExp(`^${lines.join("")}`, "m");
}

/** A reader's folder with a terminal in it. */
function createReader(project: Project, clone: string) {
  const dev = { output: "", shown: 0 };
  let folder = project.folder;
  let output = "";
  const started = new AsyncDisposableStack();

  async function serve(command: string): Promise<void> {
    // Port 8787 may be taken on this machine. A group of its own, because npm starts the command through a shell.
    const env = { ...project.env, PATCHBAY_PORT: "0" };
    const child = spawn("sh", ["-c", command], { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (dev.output += text));
    const closed = once(child, "close");
    started.defer(async () => {
      if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
      await closed;
    });
  }

  return {
    /** Runs a block of commands. Those after it start in the folder in which it ended. It fails only if the page shows an error. */
    async type(command: string, shown: string): Promise<void> {
      const end = join(project.folder, "folder-at-end");
      const { code, stdout } = await project.run(
        "sh",
        "-c",
        `exec 2>&1\ncd "$0"\n${command.replaceAll(CLONE, clone)}\ncode=$?\npwd > "$1"\nexit $code`,
        folder,
        end,
      );
      output = stdout;
      folder = (await readFile(end, "utf8")).trim();
      expect(code === 0, `${command}\n${output}`).toBe(!/^error: /m.test(shown));
    },
    serve,
    packed: (text: string) => (output = text),
    /** The last command printed this. */
    see(shown: string): void {
      expect(trimmed(`${output}\n`)).toMatch(patternOf(shown.replaceAll(CLONE, clone)));
    },
    /** The command that serves prints this, after what it had printed at the last change of a file. */
    async seeServed(shown: string): Promise<void> {
      await expect.poll(() => trimmed(dev.output.slice(dev.shown))).toMatch(patternOf(shown));
    },
    /** Replaces the only place that has the lines of a change before it, in the service's files. */
    async edit(change: string): Promise<void> {
      const lines = change.split("\n");
      const side = (other: string) =>
        lines.flatMap((line) => (line.startsWith(other) ? [] : [line.slice(1)])).join("\n");
      const changed = globSync("*.ts", { cwd: folder }).filter((file) =>
        readFileSync(join(folder, file), "utf8").includes(side("+")),
      );
      expect(changed, change).toHaveLength(1);
      const file = join(folder, changed[0]!);
      const text = await readFile(file, "utf8");
      expect(text.split(side("+")), change).toHaveLength(2);
      dev.shown = dev.output.length;
      await writeFile(
        file,
        text.replace(side("+"), () => side("-")),
      );
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

test.skipIf(registry === null)("a reader who runs the blocks of the tutorial sees what it shows", async () => {
  await using project = await createProject({ npmrc: "" });
  const clone = join(project.folder, "clone");
  const packages = join(clone, "dist/packages");
  await mkdir(dirname(packages), { recursive: true });
  await symlink(registry!.folder, packages);
  await using reader = createReader(project, clone);

  let before = "";
  for (const [index, { kind, text }] of blocks.entries()) {
    if (kind === "diff") await reader.edit(text);
    // The packages are packed already. Packing them again would empty folders that tests of other files read.
    else if (text === "npm run pack")
      reader.packed(describePacked(globSync("*.tgz", { cwd: registry!.folder }).length, packages));
    else if (text === "npm run dev") await reader.serve(text);
    else if (kind === "sh") await reader.type(text, blocks[index + 1]?.kind === "" ? blocks[index + 1]!.text : "");
    else if (before === "diff" || before === "npm run dev") await reader.seeServed(text);
    else reader.see(text);
    before = kind === "sh" ? text : kind;
  }
  expect(blocks.length).toBeGreaterThan(20);
});

test("an output with another line, or with lines between, is not what the page shows", () => {
  const shown = patternOf("one\n…\nthree … four");
  for (const output of ["one\nthree 3 four\n", "zero\none\ntwo\n\nthree 3 four\nfive\n"]) expect(output).toMatch(shown);
  for (const output of ["one\nthree\nfour\n", "two\nthree 3 four\n", "one\n"]) expect(output).not.toMatch(shown);
  expect("one\ntwo\nthree\n").not.toMatch(patternOf("one\nthree"));
});
