import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SECRETS } from "@patchbay/cli/secret-files";
import { allCodes } from "../docs/generators/codes.ts";
import { reference, undescribed } from "../docs/generators/reference.ts";
import { entriesIn, isInformative, render, type Section } from "../docs/generators/section.ts";

const pages = reference();

test("every entry has a description that says more than its name", () => {
  expect(undescribed(pages)).toEqual([]);
  const entries = [{ name: "url", facts: "`string`", description: "The url." }];
  expect(undescribed({ connect: [{ heading: "Options", entries }] })).toEqual(["connect: Options › url: The url."]);
});

/** Options that are amounts: their descriptions say the bounds or the default in figures. */
const AMOUNT = /Ms$|^concurrency$|<(?:seconds|days|n|count|port|usd|number)>/;

test("the description of an amount has a figure", () => {
  const amounts = [
    ...entriesIn(pages["define-function"]!),
    ...entriesIn(pages["connect"]!),
    ...entriesIn(pages["cli"]!),
  ]
    .filter(([, { name }]) => AMOUNT.test(name.replaceAll("`", "")))
    .filter(([, { facts }]) => !facts.includes("("));

  expect(amounts.length).toBeGreaterThan(20);
  expect(amounts.filter(([, { description }]) => !/\d/.test(description)).map(([place]) => place)).toEqual([]);
});

test("a description that is missing or only repeats the name is found", () => {
  const described = (name: string, description: string) => isInformative({ name, facts: "", description });

  expect(described("sessionId", "")).toBe(false);
  expect(described("sessionId", "The id of the session.")).toBe(false);
  expect(described("--max-tokens <count>", "max tokens")).toBe(false);
  expect(described("sessionId", "Your name for the session of the end user.")).toBe(true);
});

test("a page has a table for members, and headings for options that links lead to", () => {
  const entries = [{ name: "url", facts: "`string | URL`", description: "Where it connects." }];
  const sections: Section[] = [
    { heading: "Table", columns: ["member", "type", "meaning"], entries },
    { heading: "Options", text: "All of them.", entries },
  ];

  expect(render(sections)).toBe(
    [
      "## Table",
      String.raw`| member | type | meaning |
| --- | --- | --- |
| url | ${"`string \\| URL`"} | Where it connects. |`,
      "## Options",
      "All of them.",
      "### url",
      "`string | URL`",
      "Where it connects.",
    ].join("\n\n"),
  );
});

test("the pages have the parts of their sources", () => {
  const has = (page: string, ...places: string[]) => {
    expect(entriesIn(pages[page]!).map(([place]) => place)).toEqual(expect.arrayContaining(places));
  };
  has("define-function", "Options of defineFunction › timeoutMs", "What the handler receives › signal");
  has("define-service", "Options of defineService › modelContext");
  has("connect", "Options of connect › deployment", "The connection › ready");
  has("cli", "patchbay serve › `--run-timeout <seconds>`", "patchbay keys rotate › `<id>`");
  has("configuration", "Models and logs › `ANTHROPIC_API_KEY`", "Options › `PATCHBAY_DATA_DIR`");
  has("limits", "Limits that an operator may change › `callsPerTurn`", "Fixed limits › `resultBytes`");
  has("http", "Bodies and events › QueryRequest › `contextJson`", "Bodies and events › LlmConfig › `maxTokens`");
  has("wire", "Frames of the runtime › type: hello › `manifest`", "CallOutcome › ok: false › `code`");
  has("metrics", "`patchbay_runs_total`");
});

test("the configuration names every variable that the command reads", () => {
  const root = join(import.meta.dirname, "../packages/cli/src");
  const source = globSync("**/*.ts", { cwd: root }).map((file) => readFileSync(join(root, file), "utf8"));
  const read = new Set(source.join("\n").match(/\b(?:ANTHROPIC|OPENAI|GEMINI|PATCHBAY)_[A-Z]+(?:_[A-Z]+)*\b/g));
  const known = entriesIn(pages["configuration"]!).map(([, { name }]) => name.replaceAll("`", ""));
  const files = SECRETS.map((name) => `${name}_FILE`);

  expect(read.size).toBeGreaterThan(10);
  expect([...read].filter((name) => !known.includes(name) && !files.some((file) => file === name))).toEqual([]);
});

test("the troubleshooting page explains every code: what happened, and what to do", () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/guides/troubleshooting.md"), "utf8");
  const explained = page
    .split(/^### /m)
    .slice(1)
    .map((part) => ({
      code: part.slice(0, part.indexOf("\n")),
      advice: /^\*\*What to do:\*\* (.{10,})/m.exec(part)?.[1],
    }));

  expect(explained.map(({ code }) => code).toSorted()).toEqual(allCodes().toSorted());
  expect(explained.filter(({ advice }) => advice === undefined)).toEqual([]);
});
