import { existsSync } from "node:fs";
import type { Admin } from "@patchbay/control-plane";
import type { QueryResponse, ToolCall } from "@patchbay/protocol";
import { Refusal, type createQueryClient } from "../client/query-client.ts";
import { databaseUrl, type DatabaseOptions } from "../database.ts";
import { CommandFailure } from "../failure.ts";
import { printJson, say, tell } from "../output.ts";
import { sideBySide } from "../side-by-side.ts";

/** How people write that no role is stated. */
const NO_ROLE = "none";

interface QueryAsOptions extends DatabaseOptions {
  client: ReturnType<typeof createQueryClient>;
  agentId: string;
  context?: string;
  json?: true;
}

interface ComparedCall {
  toolName: string;
  success: boolean;
  code: string | null;
  /** The rule that refused it. Null where nothing did, or where only the caller's side is known. */
  rule: string | null;
  errorMessage: string | null;
  /** Members that were withheld from the role; null where that is not known. */
  redacted: string[] | null;
}

/** What one role saw of the query. `visible` and `hidden` are null where the service's database is not at hand. */
interface ComparedRole {
  role: string;
  success: boolean;
  visible: string[] | null;
  hidden: string[] | null;
  calls: ComparedCall[];
  response: string;
  errorMessage: string;
  threadId: string | null;
  runId: string | null;
}

type Access = Awaited<ReturnType<Admin["runAccess"]>>;

/** Asks the same query once as each role, one after the other and each on a thread of its own, and shows what each saw. */
export async function queryAs(query: string, named: readonly string[], options: QueryAsOptions): Promise<void> {
  await using books = await openBooks(options);
  const roles: ComparedRole[] = [];
  for (const role of new Set(named)) {
    if (!options.json) tell(`asking as ${role} …`);
    roles.push(await askAs(query, role, options, books.access));
  }
  if (options.json) printJson({ query, roles });
  else show(roles);
  const failed = roles.filter(({ success }) => !success);
  if (failed.length === 0) return;
  const why = failed.map(({ role, errorMessage }) => `${role}: ${errorMessage}`).join("; ");
  throw new CommandFailure(`${failed.length} of ${roles.length} queries failed (${why})`);
}

/** What the service's own database tells of a run. A bare address tells nothing: that is the owner's knowledge, not a caller's. */
async function openBooks(options: QueryAsOptions) {
  const url = databaseUrl(options);
  if (url.startsWith("sqlite:") && !existsSync(url.slice("sqlite:".length)))
    return { access: async (): Promise<Access> => undefined, async [Symbol.asyncDispose]() {} };
  const { createAdmin, openStore } = await import("@patchbay/control-plane");
  const store = await openStore(url);
  const admin = createAdmin({ store });
  return {
    access: (runId: string): Promise<Access> => admin.runAccess(options.agentId, runId),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

async function askAs(
  query: string,
  role: string,
  { client, context }: QueryAsOptions,
  accessOf: (runId: string) => Promise<Access>,
): Promise<ComparedRole> {
  const more = context === undefined ? {} : { contextJson: context };
  try {
    const answer = await client.query({ query, ...more, ...(role !== NO_ROLE && { role }) });
    const access = await accessOf(answer.runId);
    return comparedRole(role, answer, access);
  } catch (error) {
    // A key that may not state this role is a finding; a key that opens nothing is no comparison.
    if (!(error instanceof Refusal) || error.body?.code !== "role_not_allowed") throw error;
    const nothing = { visible: null, hidden: null, calls: [], response: "", threadId: null, runId: null };
    return { role, success: false, ...nothing, errorMessage: error.message };
  }
}

function comparedRole(role: string, answer: QueryResponse, access: Access): ComparedRole {
  const { success, response, errorMessage, threadId, runId, toolInteractions } = answer;
  return {
    role,
    success,
    visible: access?.visible ?? null,
    hidden: access?.hidden ?? null,
    calls: toolInteractions.map((call, index) => comparedCall(call, access?.calls[index])),
    response,
    errorMessage,
    threadId,
    runId,
  };
}

function comparedCall(
  { toolName, success, code, errorMessage }: ToolCall,
  told: NonNullable<Access>["calls"][number] | undefined,
): ComparedCall {
  const rule = told?.rule ?? null;
  const redacted = told?.redacted ?? null;
  return { toolName, success, code: code ?? null, rule, errorMessage: errorMessage ?? null, redacted };
}

function show(roles: readonly ComparedRole[]): void {
  const names = roles.map(({ role }) => role);
  const functions = unique(roles.flatMap(({ visible, hidden }) => [...(visible ?? []), ...(hidden ?? [])])).toSorted();
  if (functions.length > 0) {
    const rows = functions.map((name) => ({ name, cells: roles.map((role) => visibility(role, name)) }));
    say(sideBySide("function", names, rows));
  } else say("Which functions were visible is not known here: the service's database tells (--data-dir, --database).");

  const called = unique(roles.flatMap(({ calls }) => calls.map(({ toolName }) => toolName)));
  const rows = called.map((name) => ({ name, cells: roles.map(({ calls }) => callCell(calls, name)) }));
  say(rows.length > 0 ? `\n${sideBySide("call", names, rows)}` : "\nNo role called a function.");

  const answers = roles.map(({ success, response, errorMessage }) => (success ? response : `failed: ${errorMessage}`));
  say(`\n${sideBySide("", names, [{ name: "answer", cells: answers }])}`);
}

function visibility({ visible, hidden }: ComparedRole, name: string): string {
  if (visible?.includes(name)) return "visible";
  return hidden?.includes(name) ? "hidden" : "not known here";
}

function callCell(calls: readonly ComparedCall[], name: string): string {
  const words = calls.filter(({ toolName }) => toolName === name).map(wordsOf);
  return words.length === 0
    ? "-"
    : unique(words)
        .map((word) => counted(word, words))
        .join("\n");
}

const REFUSALS: readonly (string | null)[] = ["denied", "unknown_function", "invalid_arguments"];

function wordsOf({ success, code, rule, errorMessage, redacted }: ComparedCall): string {
  if (success) return redacted?.length ? `ran, withheld: ${redacted.join(", ")}` : "ran";
  const what = REFUSALS.includes(code) ? "refused" : "failed";
  // The text of a refusal by role is the same for everything that is hidden or unknown.
  const text = code === "unknown_function" ? "" : `: ${errorMessage ?? ""}`;
  return `${what} (${rule ?? code ?? "no code"})${text}`;
}

function counted(word: string, words: readonly string[]): string {
  const times = words.filter((other) => other === word).length;
  return times > 1 ? `${word} (${times} times)` : word;
}

const unique = (words: readonly string[]): string[] => [...new Set(words)];
