import type { HookCall, HookVerdict, LiveEvent, Manifest, ServiceHooks } from "@patchbay/protocol";
import { openStore } from "@patchbay/store/open";
import { type CoreOptions, startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { scriptedModel } from "./scripted-model.ts";

export const passed: HookVerdict = { verdict: "passed" };
export const refusal: HookVerdict = { verdict: "refused", text: "We do not discuss that." };
export const replacedBy = (text: string): HookVerdict => ({ verdict: "replaced", text });
/** A text of the model that no reader may see. */
export const SECRET = "xyzzy";
export const echo = (blocks: string) => ({ provider: "scripted", model: "scripted-1", blocks });

/** A hook that replaces every text which contains `SECRET`. */
export const masks = (call: HookCall): HookVerdict =>
  call.hook === "beforeAnswer" && call.answer.includes(SECRET)
    ? replacedBy(call.answer.replaceAll(SECRET, "***"))
    : passed;

export async function startHooked(
  turns: Parameters<typeof scriptedModel>[0],
  hook: (
    call: HookCall,
    signal: AbortSignal,
    hash: string,
  ) => HookVerdict | undefined | Promise<HookVerdict | undefined>,
  { manifest = {}, ...more }: Partial<CoreOptions> & { manifest?: Partial<Manifest> } = {},
) {
  const model = scriptedModel(turns);
  const set = manifestOf({ open: "everyone" }, { beforeQuery: true, beforeAnswer: true, ...manifest });
  const runtime = fakeGateway(set, () => ok("done"));
  const calls: HookCall[] = [];
  runtime.gateway.runHook = async (_agentId, hash, { call }, { signal }) => {
    calls.push(call);
    return await hook(call, signal, hash);
  };
  const store = more.store ?? (await openStore("sqlite::memory:"));
  const core = await startCore({ models: model.catalog, gateway: runtime.gateway, ...more, store });
  const live: LiveEvent[] = [];
  /** Everything of a run that can be read, as one text. */
  async function left({ runId, threadId }: { runId: string; threadId: string }): Promise<string> {
    const parts = await Promise.all([
      core.events(runId),
      store.runs.get("agt_1", runId),
      store.runs.checkpoint(runId),
      store.runs.history(threadId, { role: undefined, subject: undefined, maxBytes: 1_000_000 }),
      store.threads.get("agt_1", threadId, { limit: 100 }),
    ]);
    return JSON.stringify([...parts, live]);
  }
  async function ask(text: string, more: Parameters<typeof core.query>[1] = {}) {
    const run = await core.runs.start(core.caller, { query: text, analysisMode: false, maxTokens: 8192, ...more });
    for await (const { id, body } of core.follow(run)) if (id === undefined) live.push(JSON.parse(body) as LiveEvent);
    const answer = (await core.result(run))!;
    return { answer, left: await left(answer) };
  }
  const audited = async () =>
    (await store.audit.list({ agentId: "agt_1", limit: 100 })).items.map(({ action, rule, detail }) => ({
      action,
      rule,
      detail,
    }));
  return {
    ...core,
    store,
    model,
    runtime,
    calls,
    live,
    ask,
    audited,
    async [Symbol.asyncDispose]() {
      await core[Symbol.asyncDispose]();
      if (!more.store) await store.close();
    },
  };
}

/** The hooks of one of several services. */
export const hooksOf = (service: string): ServiceHooks => ({
  service,
  manifestHash: `hash of ${service}`,
  beforeQuery: true,
  beforeAnswer: true,
});
