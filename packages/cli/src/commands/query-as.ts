import { existsSync } from "node:fs";
import { PatchbayError, type AgentClient } from "@patchbay/client";
import type { Admin } from "@patchbay/control-plane";
import type { QueryResponse, ToolCall } from "@patchbay/protocol";
import { databaseUrl, type DatabaseOptions } from "../database.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import { printJson, print, printStatus } from "../output.ts";
import { sideBySide } from "../table.ts";

/** The name in --as for a query without a role. */
const NO_ROLE = "none";

interface QueryAsOptions extends DatabaseOptions {
  client: AgentClient;
  agentId: string;
  context?: string;
  json?: true;
}

type Access = Awaited<ReturnType<Admin["runAccess"]>>;
/** The query as one role. `visible` and `hidden` are null without access to the service's database. */
type ComparedRole = Awaited<ReturnType<typeof askAs>>;
type ComparedCall = ReturnType<typeof comparedCall>;

/** Sends the query as each role, one after the other and each on its own thread, and compares the answers. */
export async function queryAs(query: string, named: readonly string[], options: QueryAsOptions): Promise<void> {
  await using access = await openAccess(options);
  const roles: ComparedRole[] = [];
  for (const role of new Set(named)) {
    if (!options.json) printStatus(`querying as ${role} …`);
    roles.push(await askAs(query, role, options, access.of));
  }
  if (options.json) printJson({ query, roles });
  else show(roles);
  const failed = roles.filter(({ success }) => !success);
  if (failed.length === 0) return;
  const why = failed.map(({ role, errorMessage }) => `${role}: ${errorMessage}`).join("; ");
  throw new CommandFailure(`${failed.length} of ${roles.length} queries failed (${why})`);
}

/** Reads a run's access from the service's own database: the owner may see it, an API caller may not. */
async function openAccess(options: QueryAsOptions) {
  const url = databaseUrl(options);
  if (url.startsWith("sqlite:") && !existsSync(url.slice("sqlite:".length)))
    return { of: async (): Promise<Access> => undefined, async [Symbol.asyncDispose]() {} };
  const { createAdmin, openStore } = await import("@patchbay/control-plane/admin");
  const store = await openStore(url);
  const admin = createAdmin({ store });
  return {
    of: (runId: string): Promise<Access> => admin.runAccess(options.agentId, runId),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

async function askAs(
  query: string,
  role: string,
  { client, context }: QueryAsOptions,
  accessOf: (runId: string) => Promise<Access>,
) {
  const more = context === undefined ? {} : { contextJson: context };
  try {
    const answer = await client.query({ query, ...more, ...(role !== NO_ROLE && { role }) });
    const access = await accessOf(answer.runId);
    return comparedRole(role, answer, access);
  } catch (error) {
    // A key that may not state this role is a comparison result; any other failure ends the comparison.
    if (!(error instanceof PatchbayError && error.code === "role_not_allowed")) throw error;
    const nothing = { visible: null, hidden: null, calls: [], response: "", threadId: null, runId: null };
    return { role, success: false, ...nothing, errorMessage: error.message };
  }
}

function comparedRole(role: string, answer: QueryResponse, access: Access) {
  const { success, response, errorMessage, threadId, runId, toolInteractions } = answer;
  const { visible = null, hidden = null } = access ?? {};
  const calls = toolInteractions.map((call, index) => comparedCall(call, access?.calls[index]));
  return { role, success, visible, hidden, calls, response, errorMessage, threadId, runId };
}

/** `rule` refused the call, and `redacted` fields are removed for the role; null without access to the database. */
function comparedCall(call: ToolCall, recorded: NonNullable<Access>["calls"][number] | undefined) {
  const { toolName, success, code = null, errorMessage = null } = call;
  return { toolName, success, code, rule: recorded?.rule ?? null, errorMessage, redacted: recorded?.redacted ?? null };
}

function show(roles: readonly ComparedRole[]): void {
  const names = roles.map(({ role }) => role);
  const functions = unique(roles.flatMap(({ visible, hidden }) => [...(visible ?? []), ...(hidden ?? [])])).toSorted();
  if (functions.length > 0) {
    const rows = functions.map((name) => ({ name, cells: roles.map((role) => visibility(role, name)) }));
    print(sideBySide("function", names, rows));
  } else print("The visible functions are in the service's database: name it with --data-dir or --database.");

  const called = unique(roles.flatMap(({ calls }) => calls.map(({ toolName }) => toolName)));
  const rows = called.map((name) => ({ name, cells: roles.map(({ calls }) => callCell(calls, name)) }));
  print(rows.length > 0 ? `\n${sideBySide("call", names, rows)}` : "\nNo role called a function.");

  const answers = roles.map(({ success, response, errorMessage }) => (success ? response : `failed: ${errorMessage}`));
  print(`\n${sideBySide("", names, [{ name: "answer", cells: answers }])}`);
}

function visibility({ visible, hidden }: ComparedRole, name: string): string {
  if (visible?.includes(name)) return "visible";
  return hidden?.includes(name) ? "hidden" : "unknown";
}

function callCell(calls: readonly ComparedCall[], name: string): string {
  const outcomes = calls.filter(({ toolName }) => toolName === name).map(outcomeOf);
  return outcomes.length === 0
    ? "-"
    : unique(outcomes)
        .map((outcome) => counted(outcome, outcomes))
        .join("\n");
}

const REFUSALS: readonly (string | null)[] = ["denied", "unknown_function", "invalid_arguments"];

function outcomeOf({ success, code, rule, errorMessage, redacted }: ComparedCall): string {
  if (success) return redacted?.length ? `ran, removed: ${redacted.join(", ")}` : "ran";
  const what = REFUSALS.includes(code) ? "refused" : "failed";
  // Hidden and unknown functions share one text, which adds nothing to the code.
  const text = code === "unknown_function" ? "" : `: ${errorMessage ?? ""}`;
  return `${what} (${rule ?? code ?? "no code"})${text}`;
}

function counted(outcome: string, outcomes: readonly string[]): string {
  const times = outcomes.filter((other) => other === outcome).length;
  return times > 1 ? `${outcome} (${times} times)` : outcome;
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];
