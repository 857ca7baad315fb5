import type { RunTrace, Span } from "@patchbay/protocol/console";
import { traceOf } from "../../src/runs/trace.ts";
import { type CoreOptions, startCore } from "../../../engine/test/run/core.ts";
import { fakeGateway, manifestOf, ok } from "../../../engine/test/run/fake-gateway.ts";
import { scriptedModel, type ScriptedTurn } from "../../../engine/test/run/scripted-model.ts";
import { consoleOf } from "../../../store/test/contract/world.ts";

export const MANIFEST = manifestOf({ look_up: "everyone", refund: ["clerk", "boss"] });
export const never = new Promise<never>(() => {});

type Answer = Parameters<typeof fakeGateway>[1];

/** The core with a played model and runtime, and the traces of its runs. */
export async function startDesk(
  turns: ScriptedTurn[],
  answer: Answer = () => ok("fine"),
  options: Partial<CoreOptions> = {},
) {
  const { catalog, requests } = scriptedModel(turns);
  const core = await startCore({
    models: catalog,
    gateway: fakeGateway(MANIFEST, answer).gateway,
    ...options,
  });
  async function trace(runId: string): Promise<RunTrace> {
    const parts = await consoleOf(core.store).runs.parts({ orgId: "org_1", agentId: "agt_1" }, runId);
    return traceOf(parts!, await core.store.runtimes.getManifest("agt_1", "hash"));
  }
  async function begin(text: string): Promise<string> {
    return (await core.runs.start(core.caller, { query: text, analysisMode: false, maxTokens: 100 })).runId;
  }
  return {
    ...core,
    trace,
    begin,
    attempts: () => requests.length,
    [Symbol.asyncDispose]: () => core[Symbol.asyncDispose](),
  };
}

export const briefly = ({ spans }: RunTrace): string[] =>
  spans.map(({ kind, name, state }) => `${kind} ${name} ${state}`);
export const spanOf = ({ spans }: RunTrace, kind: Span["kind"]): Span => spans.find((span) => span.kind === kind)!;
