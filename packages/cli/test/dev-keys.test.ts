import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startCommand, temporaryFolder } from "./support/command.ts";
import { serviceSource } from "./support/service-source.ts";

const LINK = /http:\/\/127\.0\.0\.1:\d+\/console\/link#[0-9A-Za-z]{43}/;
const KEYS = "o open · q query · r restart · l new sign-in link · h help · c quit";
const SECRETS = /service_live_|patchbay_at_|patchbay_rt_/;

const examples = `exampleQueries: ["Greet \\"Ann\\"", { query: "Greet \\"Bob\\"", role: "clerk" }]`;

/** `patchbay dev` in a terminal, ready for keys. */
async function startInTerminal({ env = {} }: { env?: Record<string, string> } = {}) {
  const folder = await temporaryFolder();
  const source = serviceSource({ roles: '["clerk", "guest"]' });
  await writeFile(join(folder.path, "service.ts"), source.replace('name: "greeter",', `name: "greeter", ${examples},`));
  const dev = startCommand(["dev", "--port", "0"], { cwd: folder.path, env, terminal: true });
  await dev.seen(KEYS);
  return {
    ...dev,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await dev[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("in a terminal, dev prints the link first and no secrets", async () => {
  await using dev = await startInTerminal();

  dev.type("c");
  const { code, stdout } = await dev.finished;

  expect(code).toBe(0);
  expect(stdout).toMatch(new RegExp(`^Open ${LINK.source}\\s`, "m"));
  expect(stdout).toContain("greeter, 1 function, at http://127.0.0.1:");
  expect(stdout).toMatch(/2 {2}Greet "Bob" {2}as clerk/);
  expect(stdout).not.toMatch(SECRETS);
});

test("h shows the credentials, the functions and curl lines", async () => {
  await using dev = await startInTerminal();

  dev.type("h");

  await dev.seen(/API key +service_live_/);
  await dev.seen(/greet +clerk, guest +read +name/);
  await dev.seen(/curl http:\S+\/query -H 'X-API-Key: service_live_\S+' .* -d '{"query":"Greet \\"Ann\\""}'/);
  await dev.seen(/export BASE=\S+ AGENT=agt_/);
});

test("l prints a new sign-in link, which works", async () => {
  await using dev = await startInTerminal();
  const first = await dev.seen(LINK);

  dev.type("l");

  const links = await dev.seen(new RegExp(`${LINK.source}[^]*Open (${LINK.source})`));
  const second = links.slice(links.lastIndexOf("http"));
  expect(second).not.toBe(first);
  const { origin, hash } = new URL(second);
  const opened = await fetch(`${origin}/api/links/open`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Origin: origin },
    body: JSON.stringify({ link: hash.slice(1) }),
  });
  expect(opened.status).toBe(200);
});

test("r restarts the functions", async () => {
  await using dev = await startInTerminal();

  dev.type("r");

  await dev.seen(/reload {2}serving 1 function/);
});

test("q sends a typed query as a role, or an example with its own", async () => {
  await using dev = await startInTerminal();

  dev.type("q");
  await dev.seen("Query, or 1 to 2: ");
  dev.type('Greet "Eve"\r');
  await dev.seen("Role (clerk, guest; empty for none): ");
  dev.type("guest\r");
  await dev.seen("Hello, Eve!");
  await dev.seen(/query +run_\w+ {2}as guest {2}Greet "Eve"/);
  await dev.seen("to continue: --thread");

  dev.type("q");
  await dev.seen(/Hello, Eve![^]*Query, or 1 to 2: /);
  dev.type("2\r");
  await dev.seen("Hello, Bob!");
  await dev.seen(/query +run_\w+ {2}as clerk {2}Greet "Bob"/);
});

test("Ctrl-C ends a question, then the service", async () => {
  await using dev = await startInTerminal();

  dev.type("q");
  await dev.seen("Query, or 1 to 2: ");
  dev.type("\u0003");
  await dev.seen("Cancelled.");
  dev.type("h");
  await dev.seen(/API key +service_live_/);
  dev.type("\u0003");

  expect((await dev.finished).code).toBe(0);
});

test("o opens a new sign-in link in the browser", async () => {
  await using bin = await temporaryFolder();
  const opened = join(bin.path, "opened");
  await mkdir(join(bin.path, "bin"));
  for (const name of ["xdg-open", "open"]) {
    const opener = join(bin.path, "bin", name);
    await writeFile(opener, `#!/bin/sh\necho "$1" > ${opened}.part\nmv ${opened}.part ${opened}\n`);
    await chmod(opener, 0o755);
  }
  await using dev = await startInTerminal({ env: { PATH: `${join(bin.path, "bin")}:${process.env["PATH"]}` } });

  dev.type("o");

  await dev.seen(/Opening http/);
  await expect.poll(() => readFile(opened, "utf8").catch(() => "")).toMatch(LINK);
});

test("o says what to do when no browser can be opened", async () => {
  await using bin = await temporaryFolder();
  for (const name of ["xdg-open", "open"]) {
    await writeFile(join(bin.path, name), "#!/bin/sh\nexit 3\n");
    await chmod(join(bin.path, name), 0o755);
  }
  await using dev = await startInTerminal({ env: { PATH: `${bin.path}:${process.env["PATH"]}` } });

  dev.type("o");

  await dev.seen(/open exited with code 3\. Open the link in a browser yourself\./);
});

test("without a terminal dev shows the link first, then functions, credentials and curl lines", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), serviceSource());
  await using dev = startCommand(["dev", "--port", "0", "--no-watch"], { cwd: folder.path });
  // A line of its own: the warning of a slow load ends with the same words.
  await dev.seen(/^Ctrl-C stops\.$/m);
  dev.process.kill("SIGINT");
  const { code, stdout } = await dev.finished;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Open http:\S+\/console\/link#/);
  expect(stdout).toMatch(/greet +everyone +read +name/);
  expect(stdout).toContain("offline: word matching, not a language model; set ANTHROPIC_API_KEY");
  expect(stdout).toMatch(/curl http:\S+\/agents\/agt_\S+\/query -H 'X-API-Key: service_live_/);
  expect(stdout).toMatch(/curl -N http:\S+\/query-stream -H 'X-API-Key/);
  expect(stdout).toMatch(/curl -N http:\S+\/agent\/query-stream -H 'Authorization: Bearer /);
});
