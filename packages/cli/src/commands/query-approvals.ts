import { type AgentClient, PatchbayError } from "@patchbay/client";
import { type Approval, type ApprovalRequest, CALLER } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue, parseJson, present } from "@patchbay/kit";
import { oneLine, paintStatus, printStatus } from "../output.ts";
import { decisionCommands } from "../printed-commands.ts";
import { askLine } from "../terminal.ts";

/** Reads a line from the terminal; undefined when the question was ended, by the person or by `signal`. */
export type Ask = (question: string, options: { signal: AbortSignal }) => Promise<string | undefined>;

/** Asks for confirmations for a query's calls, one after the other. Questions that are open when disposed end. */
export interface Confirmations extends Disposable {
  /** Resolves with true if the request is decided. Asks only for calls that the query's role may confirm. */
  decide(request: ApprovalRequest): Promise<boolean>;
  /** Ends the question about a request that was decided elsewhere. */
  decided(approvalId: string): void;
}

/** `ask` is undefined without a terminal: then each request is shown with the ways to decide it. */
export function createConfirmations(
  client: AgentClient,
  target: { url: string; agent: string },
  ask: Ask | undefined,
): Confirmations {
  const questions = new Map<string, AbortController>();
  const left = new Set<string>();
  let last: Promise<unknown> = Promise.resolve();

  async function confirm(request: ApprovalRequest, { signal }: AbortController): Promise<boolean> {
    const { approvalId, by } = request;
    if (signal.aborted) return true;
    if (left.has(approvalId)) return false;
    showRequest(request);
    const here = by.includes(CALLER) && ask !== undefined ? { ask, signal } : undefined;
    const asked = here && (await confirmable(client, approvalId));
    if (asked && asked.status !== "pending") return true;
    if (here && asked && (await decideHere(client, asked, here))) return true;
    if (signal.aborted) return true;
    left.add(approvalId);
    printStatus(indented(decisionCommands(request, target)));
    return false;
  }

  return {
    decide(request) {
      const ended = new AbortController();
      questions.set(request.approvalId, ended);
      const decided = last.then(() => confirm(request, ended));
      last = decided.catch(() => {});
      return decided;
    },
    decided: (approvalId) => questions.get(approvalId)?.abort(),
    [Symbol.dispose]() {
      for (const ended of questions.values()) ended.abort();
    },
  };
}

function showRequest({ toolName, parameters, reason, by, expiresAt }: ApprovalRequest): void {
  const why = reason === undefined ? "" : `: ${oneLine(reason)}`;
  printStatus(`${paintStatus("yellow", "?")} ${oneLine(toolName)} needs an approval${why}`);
  printStatus(indented(JSON.stringify(parameters, null, 2)));
  printStatus(paintStatus("dim", `  by ${oneLine(by.join(", "))}, until ${oneLine(expiresAt)}`));
}

const indented = (text: string): string => `  ${text.replaceAll("\n", "\n  ")}`;

/** The approval, if the key may read it and the query has a role. Undefined if it cannot be confirmed from here. */
async function confirmable(client: AgentClient, approvalId: string): Promise<Approval | undefined> {
  try {
    const approval = await client.getApproval(approvalId);
    return approval.role === null ? undefined : approval;
  } catch (error) {
    if (!(error instanceof PatchbayError && error.code === "role_not_allowed")) throw error;
    printStatus(paintStatus("dim", `  This key may not decide: ${oneLine(error.message)}`));
    return undefined;
  }
}

interface Asking {
  ask: Ask;
  signal: AbortSignal;
}

/** False if the question was ended without a decision. */
async function decideHere(client: AgentClient, approval: Approval, { ask, signal }: Asking): Promise<boolean> {
  const { approvalId, edit, role } = approval;
  const choices = edit.length > 0 ? "y yes, n no, e edit" : "y yes, n no";
  for (;;) {
    const typed = (await ask(`Run it as ${oneLine(role ?? "")}? (${choices}): `, { signal }))?.toLowerCase();
    if (typed === undefined) return false;
    const approved = ["y", "yes"].includes(typed) || (typed === "e" && edit.length > 0);
    if (!approved && !["n", "no"].includes(typed)) continue;
    const changed = typed === "e" ? await editArguments(approval, { ask, signal }) : undefined;
    if (typed === "e" && changed === undefined) return false;
    const reason = approved ? undefined : await ask("Reason, for the model (empty for none): ", { signal });
    if (!approved && reason === undefined) return false;
    const decision = { approved, as: role ?? "", ...present({ arguments: changed, reason: reason || undefined }) };
    try {
      await client.decideApproval(approvalId, decision);
      return true;
    } catch (error) {
      if (!(error instanceof PatchbayError)) throw error;
      printStatus(`${paintStatus("red", "error:")} ${oneLine(error.message)}`);
      // Decided or expired meanwhile: the run continues with that.
      if (error.code === "conflict") return true;
      if (error.code !== "invalid_request") return false;
    }
  }
}

/** Reads each member that may be changed. Undefined if a question was ended. */
async function editArguments({ parameters, edit }: Approval, { ask, signal }: Asking): Promise<JsonObject | undefined> {
  const changed: JsonObject = isJsonObject(parameters) ? { ...parameters } : {};
  for (const name of edit) {
    const before = changed[name];
    const shown = before === undefined ? "not set" : JSON.stringify(before);
    const typed = await ask(`${oneLine(name)} (${oneLine(shown)}; empty keeps it): `, { signal });
    if (typed === undefined) return undefined;
    if (typed !== "") changed[name] = valueOf(typed, before);
  }
  return changed;
}

/** Text replaces text as it is typed. Any other value is JSON, and text where it is not. */
function valueOf(typed: string, before: JsonValue | undefined): JsonValue {
  const parsed = parseJson(typed);
  return typeof before === "string" || !parsed.ok ? typed : (parsed.value as JsonValue);
}

/** Reads lines from the terminal. Questions go to stderr, which keeps stdout for the answer. Undefined without a terminal. */
export function askInTerminal(): Ask | undefined {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  return async (question, { signal }) => {
    const answer = await askLine(question, process.stderr, signal);
    if (answer === undefined) printStatus("");
    return answer;
  };
}
