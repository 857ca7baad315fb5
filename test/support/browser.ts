import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** What would fetch something from elsewhere, or ask for a sandbox that containers do not have. */
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** How long a page may take to show what a test waits for: machines that run tests are busy. */
const PATIENCE_MS = 30_000;

/** Where pictures go: of tests that failed, and of every page. */
export const PICTURES = fileURLToPath(new URL("../output/console/", import.meta.url));
mkdirSync(PICTURES, { recursive: true });

/** The program: PATCHBAY_TEST_CHROMIUM, else where distributions put it. Undefined, with a line that says so, where there is none. */
function findChromium(): string | undefined {
  const found = process.env["PATCHBAY_TEST_CHROMIUM"] || PLACES.find((place) => existsSync(place));
  if (found === undefined)
    console.warn("!!! BROWSER TESTS ARE SKIPPED: set PATCHBAY_TEST_CHROMIUM, or install chromium !!!");
  return found;
}

const executablePath = findChromium();

/** True where tests that need a browser can run. */
export const hasBrowser = executablePath !== undefined;

let shared: Promise<Browser> | undefined;
afterAll(async () => (await shared)?.close());

/** One for a test file; each visit has cookies and storage of its own in it. */
function launched(): Promise<Browser> {
  if (executablePath === undefined) throw new Error("There is no browser: the tests must be skipped by hasBrowser.");
  return (shared ??= chromium.launch({ executablePath, args: ARGS }));
}

/** A page in a browser of its own, which nobody watches. Whoever opens it closes its context. */
export async function browse(origin: string, options: BrowserContextOptions = {}) {
  const context = await (await launched()).newContext({ baseURL: origin, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  return { context, page: await context.newPage() };
}

export interface VisitOptions extends BrowserContextOptions {
  /** Faults that the test brings about: what matches is not held against it. */
  expects?: RegExp[];
}

/** A person's browser on one service. What goes wrong in its pages fails the test, even where the page looks right. */
export interface Visit {
  page: Page;
  /** A page besides, of the same person. */
  newPage(): Promise<Page>;
  /** From now on, a fault that matches is not held against the test. */
  expect(fault: RegExp): void;
}

/**
 * Opens a browser of its own on `origin`, until the test ends. Faults are: an error on the console, one that no code caught, what the
 * content security policy refused, an answer with a status from 400, and a request to another origin.
 */
export async function visit(origin: string, { expects = [], ...options }: VisitOptions = {}): Promise<Visit> {
  const expected = [...expects];
  const faults: string[] = [];
  const { context, page } = await browse(origin, options);
  // Of what it says of answers, only that they failed is told; their status and address are below.
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
    if (asked !== origin && !["data:", "blob:"].includes(protocol)) faults.push(`elsewhere: ${request.url()}`);
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
