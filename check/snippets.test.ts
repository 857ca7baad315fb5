import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { JsonObject, Service } from "@patchbay/functions";
import { callAs } from "@patchbay/functions/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

const PAGES = globSync(["README.md", "docs/**/*.md", "packages/*/README.md"], {
  cwd: root,
  exclude: ["docs/reference/generated/**", "**/node_modules/**"],
});

/** What snippets of a page use and do not show. Appended, so that the compiler's lines are those of the snippet. */
const EMBEDDED = 'declare const apiKey: string; declare const service: import("@patchbay/functions").Service;';
const ENVIRONMENT = `declare const process: { stdout: NodeJS.WriteStream } & { env:
  { PATCHBAY_AGENT: string; PATCHBAY_API_KEY: string; PATCHBAY_RUNTIME_KEY: string } };`;
const ASSUMED: Record<string, string> = {
  "README.md": EMBEDDED,
  "packages/client/README.md": ENVIRONMENT,
  "packages/functions/README.md": ENVIRONMENT,
  "docs/guides/act-as-user.md": EMBEDDED,
  "docs/guides/approval.md": EMBEDDED,
  "docs/guides/debugging.md": EMBEDDED,
  "docs/guides/chat.md":
    "declare function sessionOf(request: Request): Promise<{ role: string; customerId: string } | undefined>;",
  "docs/guides/data-flow.md": EMBEDDED,
  "docs/guides/deploying.md": EMBEDDED,
  "docs/guides/testing.md": `${EMBEDDED} declare const { runQuery, scriptedModel }: typeof import("@patchbay/functions/testing");
    declare const query: string, role: string, provider: import("@patchbay/functions/testing").ScriptedModel;`,
};

/** How snippets begin that are not modules: members of an object, and a file that another test compares with the one that runs. */
const PARTS = [
  "authorize: ({ role, context",
  "authorize: ({ role, input",
  "import { mkdtempDisposableSync }",
  "output: z.object(",
  "roles: [",
  "roles: {",
];

/** The blocks of a page in JavaScript are one program, which a reader continues. */
const joined = (blocks: readonly { page: string; language: string; code: string }[]) => {
  const [first, ...others] = blocks.filter(({ language }) => language === "js");
  const program = first && { ...first, code: [first, ...others].map(({ code }) => code).join("\n") };
  return [...blocks.filter(({ language }) => language !== "js"), ...(program ? [program] : [])];
};

const blocksOf = (page: string) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^ *```(tsx?|js)\n(.*?)^ *```/gms)].map(
    ([, language = "", code = ""]) => ({ page, language, code }),
  );

const all = PAGES.flatMap((page) =>
  joined(blocksOf(page)).map(({ language, code }, index) => ({
    page,
    file: `${page.replaceAll(/[/.]/g, "-")}-${index + 1}.${language === "tsx" ? "tsx" : "ts"}`,
    code: `${code}${ASSUMED[page] ?? ""}\nexport {};\n`,
  })),
);
const partOf = (code: string) => PARTS.find((start) => code.startsWith(start));
const snippets: readonly { page: string; file: string; code: string }[] = all.filter(
  ({ code }) => partOf(code) === undefined,
);

/** Modules of a reader's project, and packages that only `.ci/full` installs. */
const MODULES: Record<string, string> = {
  "app.module.d.ts": "export declare class AppModule {}",
  "langchain.d.ts":
    'declare module "@langchain/core/tools" { export function tool(run: (input: any) => unknown, fields: object): object; }',
  "next.d.ts": 'declare module "next" { export default function next(options: { dev: boolean }): any; }',
};

/** Inside the repository, so that the snippets find the packages. */
const folder = join(root, `test/output/snippets-${process.pid}`);
const EXTENDED = {
  extends: "../../../tsconfig.json",
  compilerOptions: {
    noUnusedLocals: false,
    noUnusedParameters: false,
    jsx: "react-jsx",
    // The chat page is compiled with the packages of its example.
    paths: { "@ai-sdk/react": ["../../../examples/chat/node_modules/@ai-sdk/react/dist/index.d.ts"] },
  },
  include: ["*.ts", "*.tsx"],
};

beforeAll(async () => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(EXTENDED));
  for (const [file, code] of Object.entries(MODULES)) await writeFile(join(folder, file), code);
  for (const { file, code } of snippets) await writeFile(join(folder, file), code);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What the compiler reports of the folder; empty if it accepts every file. */
async function faults(): Promise<string> {
  const compiler = join(root, "node_modules/.bin/tsc");
  const failed = await run(compiler, ["-p", folder]).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  return failed;
}

test("the snippets of the pages pass the type check", async () => {
  expect(snippets.length).toBeGreaterThan(10);
  expect(all.flatMap(({ code }) => partOf(code) ?? []).toSorted()).toEqual(PARTS.toSorted());
  expect(await faults()).toBe("");
});

/** The service of a page's first complete program. */
async function serviceOf(page: string): Promise<Service> {
  const { code } = blocksOf(page).find((block) => block.code.includes("export default"))!;
  const file = join(folder, `${page.replaceAll(/[/.]/g, "-")}-service.ts`);
  await writeFile(file, code);
  const { default: service } = (await import(file)) as { default: Service };
  return service;
}

test.each([
  ["docs/index.md", "get_order", "W100"],
  ["packages/functions/README.md", "get_order", "42"],
])("the first example in %s runs, and refuses a caller without identity", async (page, functionName, orderId) => {
  const service = await serviceOf(page);
  const call = (id: string, context: JsonObject) =>
    callAs(service, { functionName, role: "customer", input: { orderId: id }, context });
  expect(await call(orderId, { customerId: "ada" })).toMatchObject({ ok: true });
  for (const context of [{}, { customerId: null }, { customerId: "ben" }])
    for (const id of [orderId, "unknown"]) expect(await call(id, context)).toMatchObject({ code: "denied" });
});

test("the function in README.md refunds an order once, and names one that it does not find", async () => {
  const service = await serviceOf("README.md");
  const input = { orderId: "#W100", reason: "late" };
  const refund = () => callAs(service, { functionName: "refund_order", role: "support", input });
  expect(await refund()).toEqual({ ok: true, value: { refundedUsd: 25, reason: "late" } });
  expect(await refund()).toMatchObject({ ok: false, message: "order not found" });
});

test("the functions in docs/guides/files.md read the caller's upload, and store bytes from base64", async () => {
  const service = await serviceOf("docs/guides/files.md");
  const call = (functionName: string, input: JsonObject, context: JsonObject = { customerId: "ada" }) =>
    callAs(service, { functionName, role: "customer", input, context });
  expect(await call("read_upload", { uploadId: "up_1" })).toMatchObject({ value: { text: "article,pieces\nA1,3\n" } });
  for (const context of [{}, { customerId: "ben" }])
    for (const uploadId of ["up_1", "up_2"])
      expect(await call("read_upload", { uploadId }, context)).toMatchObject({ code: "denied" });

  const png = Buffer.from("\x89PNG\r\n", "latin1");
  const stored = await call("store_signature", { png: png.toString("base64") });
  expect(stored).toEqual({ ok: true, value: { uploadId: "signature", sizeBytes: png.length } });
  expect(await call("store_signature", { png: "no base64" })).toMatchObject({ code: "invalid_arguments" });
  expect(await call("store_signature", { png: "R0lG" })).toMatchObject({ message: "The image is not a PNG." });
});

test("the function in docs/guides/dates.md finds the visits of a day in the caller's time zone", async () => {
  const service = await serviceOf("docs/guides/dates.md");
  const visitsOn = async (day: string, timeZone?: string) => {
    const context = timeZone === undefined ? {} : { timeZone };
    const outcome = await callAs(service, { functionName: "list_visits", role: "staff", input: { day }, context });
    return outcome.ok ? (outcome.value as { visitId: string }[]).map(({ visitId }) => visitId) : outcome.code;
  };
  expect(await visitsOn("2026-03-28")).toEqual(["V1"]);
  expect(await visitsOn("2026-03-29")).toEqual(["V2"]);
  expect(await visitsOn("2026-03-28", "America/New_York")).toEqual(["V1", "V2"]);
  expect(await visitsOn("29 March")).toBe("invalid_arguments");
});

test("the debugging page has a service that runs, and the launch file of a new service", async () => {
  const service = await serviceOf("docs/guides/debugging.md");
  const call = (article: string) =>
    callAs(service, { functionName: "get_stock", role: "warehouse", input: { article } });
  expect(await call("A1")).toEqual({ ok: true, value: { pieces: 3, shelf: "4b" } });
  expect(await call("A2")).toMatchObject({ code: "function_failed", message: "No article has the name A2." });

  const page = readFileSync(join(root, "docs/guides/debugging.md"), "utf8");
  expect(/```json\n(.*?)```/s.exec(page)![1]).toBe(
    readFileSync(join(root, "packages/create/template/launch.json"), "utf8"),
  );
});

test("the page about time in tests contains the test file that runs", () => {
  const { code } = blocksOf("docs/guides/mocked-time.md")[0]!;
  expect(code).toBe(readFileSync(join(root, "packages/functions/test/mocked-time.test.ts"), "utf8"));
});

test("a snippet with a wrong type is found", async () => {
  const wrong = join(folder, "wrong.ts");
  await writeFile(
    wrong,
    'import { defineService } from "@patchbay/functions";\ndefineService({ name: 1, functions: [] });\n',
  );
  try {
    expect(await faults()).toContain("wrong.ts(2,");
  } finally {
    await rm(wrong);
  }
});
