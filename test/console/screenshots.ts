import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright-core";
import { startCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { costlyPendingOrder, deliveredOrder, pendingOrder, retailRecords } from "../support/retail.ts";

/**
 * Takes the screenshots of the README: `pnpm screenshots`. Starts `patchbay dev` with the retail desk and the offline model, sends
 * queries as several roles and signs in with the printed link.
 */
const root = fileURLToPath(new URL("../../", import.meta.url));
const images = `${root}docs/images`;

/** The output of the command when it is ready. */
interface Ready {
  baseUrl: string;
  consoleUrl: string;
  agentId: string;
  apiKey: string;
}

type Extra = Record<string, string>;

execFileSync(process.execPath, [`${root}packages/console/build.ts`], { stdio: "inherit" });
await using folder = await temporaryFolder();
await using dev = startCommand(
  ["dev", `${root}examples/retail-desk/service.ts`, "--port", "0", "--data-dir", folder.path, "--json", "--no-watch"],
  { cwd: root },
);
const ready = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as Ready;

const customerId = pendingOrder.ownerId;
const customer: Extra = { role: "customer", contextJson: JSON.stringify({ customerId }) };
const [own = "", other = ""] = retailRecords.users[customerId]?.orders ?? [];
/** Calls several functions concurrently; one call is denied, because the order belongs to another customer. */
const question = `What is the status of orders ${own}, ${other} and ${deliveredOrder.orderId}?`;

async function ask(query: string, more: Extra): Promise<string> {
  const response = await fetch(`${ready.baseUrl}/agents/${ready.agentId}/query`, {
    method: "POST",
    headers: { "x-api-key": ready.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ query, ...more }),
  });
  const { runId, errorMessage } = (await response.json()) as { runId: string; errorMessage: string };
  if (!response.ok) throw new Error(`"${query}" failed with status ${response.status}: ${errorMessage}`);
  return runId;
}

/** Sends the queries of a day. The first one warms up the process, so that the run of the screenshot has its usual duration. */
async function askAround(): Promise<string> {
  await ask(question, customer);
  const { orderId } = costlyPendingOrder;
  const emails = Object.values(retailRecords.users).slice(0, 6);
  for (const { email } of emails) await ask(`What is the user id of ${email}?`, { role: "agent" });
  await ask("Which product types are there?", {});
  await ask("Which product types are there?", customer);
  await ask(`What is the status of order ${orderId}?`, { role: "agent" });
  await ask(`Cancel order ${orderId} because it is no longer needed`, { role: "agent" });
  await ask(`Cancel order ${orderId} because it is no longer needed`, { role: "manager" });
  await ask(`What is the status of order ${deliveredOrder.orderId}?`, { role: "manager" });
  return ask(question, customer);
}

/** Saves a screenshot as WebP, a tenth of the size of a PNG. */
async function take(page: Page, path: string, name: string): Promise<void> {
  await page.goto(path);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.waitForLoadState("networkidle");
  await page.waitForFunction("document.querySelector('[aria-busy=true], .animate-shimmer') === null");
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: 90 });
  const bytes = Buffer.from(data, "base64");
  writeFileSync(`${images}/${name}.webp`, bytes);
  console.log(`docs/images/${name}.webp  ${Math.round(bytes.byteLength / 1000)} kB`);
}

mkdirSync(images, { recursive: true });
const runId = await askAround();
const executablePath = process.env["PATCHBAY_TEST_CHROMIUM"] ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage({
    baseURL: ready.baseUrl,
    viewport: { width: 1440, height: 900 },
    deviceScaleFactor: 2,
    colorScheme: "light",
    reducedMotion: "reduce",
  });
  await page.goto(ready.consoleUrl);
  await page.getByRole("heading", { level: 1, name: "Agents" }).waitFor();
  const agent = `/console/agents/${ready.agentId}`;
  await take(page, `${agent}/runs/${runId}`, "run");
  await take(page, `${agent}/access`, "access");
} finally {
  await browser.close();
}
