import { type Mutant, mutant } from "../simulation/mutants.ts";

const engine = (file: string): string => `engine/src/run/${file}`;
const FLOW = engine("calls/flow.ts");
const ATTEMPTS = engine("calls/attempts.ts");
const RUN = engine("worker/run-to-end.ts");
const SETTINGS = engine("start/settings.ts");
const RESULTS = "access/src/flow/results.ts";
const LABELS = "runtime/src/flow/labels.ts";
const CHAT = "server/src/query/openai/chat-request.ts";
const MCP = "mcp/src/mcp-functions.ts";

const RECALLED = "recallFlow(run, manifest, history.entries, runs)";

/** Removes the labels from the outcomes that a run has. */
const FORGET = "for (const call of state.calls) if (call.outcome) call.outcome = { ...call.outcome, flow: undefined };";
const RESUMED = "return { ...createProgress(run, turns, calls), ...continued };";
const FORGOTTEN = `for (const call of calls) if (call.outcome) call.outcome = { ...call.outcome, flow: undefined };
  ${RESUMED}`;

/** Places at which a label could be lost, by the scenario that shows it. */
export const LOST_LABELS: Record<string, Mutant[]> = {
  "a run": [
    mutant("results", FLOW, "one.untrusted.length > 0 || valuesOf", "valuesOf"),
    mutant("calls-of-the-model-as-direct", FLOW, "direct: request.testCall !== undefined,", "direct: true,"),
    mutant(
      "delivery",
      ATTEMPTS,
      "if (delivery.outcome.ok) return delivery;",
      "if (delivery.outcome.ok) return { outcome: { ...delivery.outcome, flow: undefined } };",
    ),
  ],
  "a stranger's value": [mutant("untrusted-members", RESULTS, "|| covers(path)", "")],
  "a thread": [mutant("earlier-runs", RUN, RECALLED, "recallFlow(run, manifest, [], runs)")],
  "a thread whose beginning is left out": [
    mutant("inherited-labels", FLOW, "(first.labels ?? [])", "[]"),
    mutant("stored-labels", engine("loop/request.ts"), "state.calls.some((call) => isLabelled(call, one))", "false"),
  ],
  "a conversation that is cut": [
    mutant("compaction", FLOW, "({ flow, calls, continuedCalls,", "({ flow, calls, dropped: continuedCalls,"),
  ],
  "a retry": [mutant("retry", FLOW, "...(await callsOf(retryOf?.continues ?? [], runs))", "")],
  "a thread with a retry": [mutant("retried-run", RUN, RECALLED, "recallFlow(run, manifest, [], runs)")],
  "a retry under a stricter mode": [
    mutant(
      "mode-of-a-retry",
      engine("start/retry.ts"),
      "keyLabel: ____, ...kept",
      "keyLabel: ____, flows: _____, ...kept",
    ),
  ],
  "a stricter mode of the agent": [
    mutant("stricter-mode", "access/src/flow/rule.ts", ", FLOW_MODES.indexOf(ofAgent))", ")"),
    mutant("mode-setting", SETTINGS, "historyTokens, responseSchema, flows })", "historyTokens, responseSchema })"),
  ],
  "a rerun under a stricter mode": [
    mutant("mode-of-a-rerun", SETTINGS, "responseSchema, maxCostMicros, flows })", "responseSchema, maxCostMicros })"),
  ],
  "another model": [
    mutant(
      "fallback",
      engine("loop/respond.ts"),
      "if (next === state.model) return true;",
      `${FORGET}\n  if (next === state.model) return true;`,
    ),
  ],
  "a rerun": [
    mutant("rerun", RUN, RECALLED, "recallFlow(run, manifest, run.request.rerunOf ? [] : history.entries, runs)"),
  ],
  "an answer that a hook rewrote": [
    mutant("hook", engine("loop/hooks.ts"), "return { ...turn, thoughts:", `${FORGET}\n  return { ...turn, thoughts:`),
  ],
  "a second service": [
    mutant("second-service", engine("calls/dispatch.ts"), "withLabels(state, manifest, answer)", "answer"),
  ],
  "a failed attempt": [
    mutant("failed-attempt", ATTEMPTS, "message, retryAfterMs, ...present({ flow }) }", "message, retryAfterMs }"),
  ],
  "another replica": [mutant("resumed-elsewhere", RUN, RESUMED, FORGOTTEN)],
  "a run after an approval": [mutant("resumed-after-approval", RUN, RESUMED, FORGOTTEN)],
  "what a client says that an assistant wrote": [
    mutant("quoted", FLOW, `(request.quoted ?? []).some(({ from }) => from === "assistant") ||`, ""),
  ],
  "a chat client's background task": [
    mutant("background", engine("state.ts"), "const visible = task ? [] :", "const visible ="),
  ],
  "a foreign tool": [mutant("foreign", FLOW, "|| [...functions].some(({ flow }) => flow?.foreign)", "")],
  "a secret": [mutant("secret-results", FLOW, "received.some((one) => one.secret.length > 0)", "false")],
  "a value that the run wrote": [mutant("written", FLOW, "if (noted.size > 0)", "if (noted.size < 0)")],
  "a value that a run with a foreign tool wrote": [
    mutant("written-next-to-a-foreign-tool", FLOW, "|| [...functions].some(({ flow }) => flow?.foreign)", ""),
  ],
  "a stranger's value at both ends": [
    mutant("untrusted-labels", LABELS, "untrusted: some(strange?.labelled(value)),", ""),
    mutant("labels-of-results", "runtime/src/gate.ts", "return labelled(definition, await run);", "return await run;"),
  ],
  "an error of a function with a part that strangers write": [
    mutant(
      "errors",
      "runtime/src/gate.ts",
      "labels?.of(outcome.value) : labelsIn(rules, outcome)",
      "labels?.of(outcome.value) : {}",
    ),
  ],
  "a secret at both ends": [mutant("secret-labels", LABELS, ", secret: some(hidden?.labelled(value)) }", " }")],
  "a value that the run wrote, at both ends": [
    mutant("written-at-both-ends", FLOW, "if (noted.size > 0)", "if (noted.size < 0)"),
  ],
  "a tool's description": [mutant("tool-description", MCP, "foreign: true,", "")],
  "a tool's result": [mutant("tool-result", MCP, `returns: "untrusted",`, "")],
  "a tool's error": [mutant("tool-error", MCP, `returns: "untrusted",`, "")],
  "a task that repeats a stranger's words": [
    mutant("task-as-a-query", CHAT, "quotesConversation(asked.messages))", "false)"),
  ],
  "a chat after a task that repeats a stranger's words": [
    mutant(
      "words-of-a-task",
      CHAT,
      "isTask ? taskOf(said) :",
      "isTask ? { ...taskOf(said), ...conversation.thread } :",
    ),
  ],
  "a result that is sent again": [
    mutant(
      "redelivery",
      "runtime/src/connection/calls.ts",
      "this.#ledger.keep(callId, result,",
      `this.#ledger.keep(callId, { ...result, frame: result.frame.replace(/,"flow":{[^}]*}/, "") },`,
    ),
  ],
};
