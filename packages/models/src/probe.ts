import { present } from "@patchbay/kit";
import { timeoutSignal } from "@patchbay/kit/time";
import {
  agentModels,
  type ChosenModel,
  type ModelFunction,
  type ModelRequest,
  type ModelTurn,
  type ModelUser,
} from "@patchbay/engine/ports/model-provider";
import { createModelCatalog, type ProviderConfig } from "./catalog.ts";
import type { Endpoint } from "./endpoints.ts";
import { parseArguments } from "./neutral-request.ts";

/** What a model did in two short turns. */
export interface Probed {
  endpoint: string;
  model: string;
  works: string[];
  /** What it did not do, although it was asked for. */
  missing: string[];
  /** Members that the endpoint's server does not get. */
  leftOut?: string[];
  /** Why the endpoint did not answer. */
  error?: string;
}

const PROBE_MS = 60_000;

const functionOf = (name: string, member: string, type: string): ModelFunction => ({
  name,
  description: `Takes the ${member}.`,
  effect: "read",
  inputSchema: { type: "object", properties: { [member]: { type } }, required: [member] },
});
const note = functionOf("note", "text", "string");
const respond = functionOf("respond", "sum", "integer");

/** Asks the default model of each endpoint, and the models of agents, for a turn with calls and for a structured answer. These turns cost. */
export async function probeModels(config: ProviderConfig, agents: readonly ModelUser[] = []): Promise<Probed[]> {
  const catalog = createModelCatalog(config);
  const listed: readonly Partial<Endpoint>[] = config.endpoints?.() ?? catalog.providers();
  const defaults = listed.map(({ name = "", organisations: [orgId] = [] }) =>
    catalog.choose({ provider: name, ...present({ orgId }) }),
  );
  const chosen = [...defaults, ...agents.flatMap((agent) => agentModels(agent, catalog))];
  const models = new Map(
    chosen.flatMap((one) => ("missing" in one ? [] : [[`${one.provider.name}/${one.model}`, one]])),
  );
  const probed = await Promise.all(models.values().map(probe));
  const left = new Map(catalog.providers().map(({ name, leftOut }) => [name, leftOut]));
  return probed.map((one) => ({ ...one, ...present({ leftOut: left.get(one.endpoint) }) }));
}

async function probe({ provider, model }: ChosenModel): Promise<Probed> {
  const about = { endpoint: provider.name, model };
  async function ask(
    text: string,
    more: Pick<ModelRequest, "functions" | "toolChoice" | "respond">,
  ): Promise<ModelTurn> {
    const ids = { threadId: "probe", cacheKey: "probe" };
    const messages = [{ role: "user" as const, text }];
    const request = { model, system: "", messages, maxTokens: 2_000, ...ids, ...more };
    const signal = timeoutSignal(PROBE_MS);
    for await (const event of provider.stream(request, { signal })) if (event.type === "end") return event.turn;
    throw new Error("the answer has no end");
  }
  try {
    const calling = { functions: [note], toolChoice: "auto" as const };
    const first = await ask("Say hello. Then call note twice in this turn, with the texts one and two.", calling);
    const closing = { functions: [respond], toolChoice: "respond" as const, respond };
    const second = await ask("Call respond with the sum of 2 and 3.", closing);
    const did = {
      text: first.text.trim() !== "",
      call: first.calls.length > 0,
      "parallel calls": first.calls.length > 1,
      "structured answer": second.calls.some(({ arguments: text }) => Number.isInteger(parseArguments(text)["sum"])),
      thoughts: first.thoughts.length > 0 || second.thoughts.length > 0,
    };
    const names = Object.entries(did);
    const named = (done: boolean) => names.flatMap(([name, does]) => (does === done ? [name] : []));
    return { ...about, works: named(true), missing: named(false) };
  } catch (error) {
    return { ...about, works: [], missing: [], error: error instanceof Error ? error.message : String(error) };
  }
}
