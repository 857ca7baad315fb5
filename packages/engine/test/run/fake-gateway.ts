import type { CallOutcome, Manifest, PreparedContext } from "@patchbay/protocol";
import type { CallOrder, Delivery, DeliveryOptions, FunctionGateway } from "../../src/ports/function-gateway.ts";

type Answer = (order: CallOrder, signal: AbortSignal) => Delivery | Promise<Delivery>;

export const ok = (
  value: CallOutcome extends infer O ? (O extends { ok: true; value: infer V } ? V : never) : never,
): Delivery => ({
  kind: "outcome",
  outcome: { ok: true, value },
});

/** A manifest of functions that accept any arguments, with their roles by name. */
export function manifestOf(roles: Record<string, string[] | "everyone">, extra: Partial<Manifest> = {}): Manifest {
  return {
    name: "test",
    preparesContext: false,
    functions: Object.entries(roles).map(([name, who]) => ({
      name,
      description: name,
      inputSchema: { type: "object" },
      roles: who,
      conditional: false,
      effect: "write",
      idempotent: name.startsWith("idempotent"),
      timeoutMs: 5_000,
    })),
    ...extra,
  };
}

/** A gateway with one runtime, which `answer` plays. Set `connected` to false to disconnect it. */
export function fakeGateway(manifest: Manifest, answer: Answer, recovered: Answer = answer) {
  const set = { manifest, manifestHash: "hash" };
  const orders: CallOrder[] = [];
  const acknowledged: string[] = [];
  const stopped: string[] = [];
  const fake = {
    connected: true,
    orders,
    acknowledged,
    stopped,
    prepared: { ok: true } as PreparedContext,
    /** When an order was sent; undefined when unknown. */
    sentAt: async (): Promise<number | undefined> => Date.now(),
  };
  const send = async (order: CallOrder, reply: Answer, { signal, onSent }: DeliveryOptions): Promise<Delivery> => {
    orders.push(order);
    const sentAt = await fake.sentAt();
    if (sentAt !== undefined) onSent?.(sentAt);
    const gone = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return await Promise.race([reply(order, signal), gone]);
  };
  const gateway: FunctionGateway = {
    session: async () =>
      fake.connected ? { ...set, services: [{ service: manifest.name, ...set }], missing: [] } : undefined,
    combine: async () => set,
    serving: async () => ({ services: [] }),
    prepare: async () => fake.prepared,
    runHook: async () => ({ verdict: "passed" }),
    judge: async () => ({}),
    assign: async () => (fake.connected ? `runtime-${orders.length}` : undefined),
    deliver: (order, options) => send(order, answer, options),
    recover: (order, options) => send(order, recovered, options),
    acknowledge: ({ callId }) => void acknowledged.push(callId),
    stop: ({ callId }) => void stopped.push(callId),
    connected: async () => fake.connected,
    onChange: () => ({ [Symbol.dispose]() {} }),
  };
  return Object.assign(fake, { gateway });
}
