import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { serveHealth } from "@patchbay/cli/health";
import { startHttp } from "../../packages/server/test/http/support/start-http.ts";
import { freePort } from "@patchbay/test-support/free-port";

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const instructions = readFileSync(at("deploy/Dockerfile"), "utf8")
  .replaceAll(/^#.*\n/gm, "")
  .replaceAll(/\s*\\\n\s*/g, " ")
  .split("\n")
  .filter(Boolean);
const of = (name: string) =>
  instructions.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1));

test("every copied file exists and is included in the build", () => {
  const allowed = readFileSync(at("deploy/Dockerfile.dockerignore"), "utf8").match(/(?<=^!).+$/gm) ?? [];
  const sources = of("COPY")
    .filter((line) => !line.startsWith("--from"))
    .flatMap((line) => line.split(" ").slice(0, -1));
  expect(sources.toSorted()).toEqual(allowed.toSorted());
  for (const source of sources) expect(existsSync(at(source)), source).toBe(true);
});

test("every named stage exists, and the default one is the service", () => {
  const stages = of("FROM").map((line) => line.split(" AS ")[1]);
  const copied = of("COPY").flatMap((line) => /^--from=(\w+)/.exec(line)?.[1] ?? []);
  const based = of("FROM").map((line) => line.split(" ")[0]!);
  for (const name of [...copied, ...based.filter((base) => base !== "${BASE}")]) expect(stages).toContain(name);
  expect(stages.at(-1)).toBe("patchbay");
});

test("the base is one argument, so that a build can name it by digest", () => {
  expect(instructions[0]).toMatch(/^ARG BASE=node:\d+-slim$/);
  expect(of("FROM").filter((line) => line.startsWith("${BASE} "))).toHaveLength(2);
});

test("it runs as a plain user, stops on SIGTERM, and is built with the pnpm version of the repository", () => {
  expect(of("USER")).toEqual(["node"]);
  expect(of("STOPSIGNAL")).toEqual(["SIGTERM"]);
  const pnpm = /pnpm@[\d.]+/.exec(readFileSync(at("install.mjs"), "utf8"))![0];
  expect(of("RUN").join("\n")).toContain(`npm install --global ${pnpm}`);
});

test("it contains the console, built and placed as by `pnpm build`", () => {
  const building = "node packages/console/build.ts --copy-to packages/control-plane/dist/console/files";
  expect(of("RUN").join("\n")).toContain(`rolldown -c && ${building}`);
  expect(readFileSync(at("release/build.ts"), "utf8")).toContain(
    'join(folderOf("control-plane"), "dist/console/files")',
  );
  expect(of("RUN").join("\n")).toMatch(/pnpm install .*--filter @patchbay\/console /);
});

describe("health checks", () => {
  const check = (variable: string) => {
    const line = of("HEALTHCHECK").find((one) => one.includes(`process.env.${variable}`))!;
    const [node, ...args] = JSON.parse(line.slice(line.indexOf("["))) as string[];
    expect(node).toBe("node");
    return async (port: number) => {
      const child = spawn(process.execPath, args, { env: { [variable]: String(port) }, stdio: "ignore" });
      const [code] = (await once(child, "close")) as [number];
      return code;
    };
  };

  test("that of the control plane passes while it answers, and fails when it does not", async () => {
    const codeOn = check("PATCHBAY_PORT");
    await using http = await startHttp();
    expect(await codeOn(http.port)).toBe(0);
    expect(await codeOn(await freePort())).toBe(1);
  });

  test("that of a runtime passes while it answers, also while it connects, and fails when it does not", async () => {
    const codeOn = check("PATCHBAY_HEALTH_PORT");
    const url = await serveHealth({ host: "127.0.0.1", port: 0, state: () => "connecting" });
    expect(await codeOn(Number(new URL(url).port))).toBe(0);
    expect(await codeOn(await freePort())).toBe(1);
    expect(of("ENV").join("\n")).toContain("PATCHBAY_HEALTH_PORT=8788");
  });
});
