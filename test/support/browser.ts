import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { WAIT_MS } from "@patchbay/test-support/patience";

/** The headless shell first: without the windows of the others it needs about half of their CPU time. */
const PLACES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** Without the sandbox, which containers lack, and without requests of the browser itself. */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** The folder of screenshots: of failed tests, and of every page. */
export const PICTURES = fileURLToPath(new URL("../output/console/", import.meta.url));
mkdirSync(PICTURES, { recursive: true });

/** The path of Chromium: PATCHBAY_TEST_CHROMIUM, or a common path. Warns and returns undefined if it is not installed. */
function findChromium(): string | undefined {
  const found = process.env["PATCHBAY_TEST_CHROMIUM"] || PLACES.map((name) => `/usr/bin/${name}`).find(existsSync);
  if (found === undefined)
    console.warn("!!! BROWSER TESTS ARE SKIPPED: set PATCHBAY_TEST_CHROMIUM or install chromium !!!");
  return found;
}

const executablePath = findChromium();

/** True if Chromium is installed. Skip tests that need it otherwise. */
export const hasBrowser = executablePath !== undefined;

let shared: Promise<Browser> | undefined;

/**
 * One browser for the test files of a process, which ends with it, or another one after it crashed. Each visit has its own cookies and
 * storage.
 */
async function launched(): Promise<Browser> {
  if (executablePath === undefined) throw new Error("Chromium is not installed. Skip browser tests with hasBrowser.");
  if (shared && !(await shared).isConnected()) shared = undefined;
  return (shared ??= chromium.launch({ executablePath, args: ARGS }));
}

/** Opens a page with its own cookies and storage, without recording faults. The caller closes its context. */
export async function browse(origin: string, options: BrowserContextOptions = {}) {
  const context = await (await launched()).newContext({ baseURL: origin, ...options });
  context.setDefaultTimeout(WAIT_MS);
  return { context, page: await context.newPage() };
}

export interface VisitOptions extends BrowserContextOptions {
  /** Faults that the test causes. Matching faults do not fail it. */
  expects?: RegExp[];
}

/** A browser of one member. Faults in its pages fail the test, even if the page looks right. */
export interface Visit {
  page: Page;
  /** Opens another page with the same cookies and storage. */
  newPage(): Promise<Page>;
  /** Allows matching faults from now on. */
  expect(fault: RegExp): void;
}

/**
 * Opens a browser on `origin` until the test ends. Faults are: console errors, uncaught errors, violations of the content security
 * policy, responses with a status from 400, and requests to other origins.
 */
export async function visit(origin: string, { expects = [], ...options }: VisitOptions = {}): Promise<Visit> {
  const expected = [...expects];
  const faults: string[] = [];
  const { context, page } = await browse(origin, options);
  // Skip its messages about failed responses: they lack the status and URL, which the response handler records.
  context.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      faults.push(`console: ${message.text()}`);
  });
  context.on("weberror", (thrown) => void faults.push(`uncaught: ${thrown.error().stack}`));
  context.on("response", (answer) => {
    if (answer.status() < 400) return;
    const { pathname } = new URL(answer.url());
    faults.push(`${answer.status()} ${answer.request().method()} ${pathname}`);
  });
  context.on("request", (request) => {
    const { protocol, origin: asked } = new URL(request.url());
    if (asked !== origin && !["data:", "blob:"].includes(protocol)) faults.push(`other origin: ${request.url()}`);
  });

  onTestFinished(async ({ task }) => {
    const name = task.name.replaceAll(/[^a-z0-9]+/gi, "-").slice(0, 80);
    if (task.result?.state === "fail") await page.screenshot({ path: `${PICTURES}failed-${name}.png` }).catch(() => {});
    await context.close();
    expect(
      faults.filter((fault) => !expected.some((pattern) => pattern.test(fault))),
      "faults of the page",
    ).toEqual([]);
  });
  return { page, newPage: () => context.newPage(), expect: (fault) => void expected.push(fault) };
}
