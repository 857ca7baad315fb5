import {
  defineFunction,
  defineService,
  everyone,
  FunctionError,
  type CallContext,
  type FunctionOptions,
  type RawSchema,
} from "@patchbay/functions";
import type { JsonObject } from "@patchbay/kit";

/** The input of one handler call. */
export interface Handled extends Pick<CallContext, "role" | "context" | "threadId" | "sessionId"> {
  name: string;
  input: JsonObject;
}

type Options = FunctionOptions<RawSchema, undefined, JsonObject>;

const byId = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };
const nothing = { type: "object" };

/** A small service with one function per kind of outcome. It records the input of its handlers. */
export function createTestService(options: { defaultRole?: string } = {}) {
  const handled: Handled[] = [];
  const held = gates();

  function define({ handler, ...rest }: Pick<Options, "name" | "handler"> & Partial<Options>) {
    return defineFunction({
      description: `Does ${rest.name}.`,
      input: nothing,
      roles: everyone,
      ...rest,
      handler(input, ctx) {
        const { role, context, threadId, sessionId } = ctx;
        handled.push({ name: rest.name, input, role, context, threadId, sessionId });
        return handler(input, ctx);
      },
    });
  }

  const service = defineService({
    name: "desk",
    ...(options.defaultRole !== undefined && { defaultRole: options.defaultRole }),
    functions: [
      define({ name: "look_up", input: byId, effect: "read", handler: ({ id = "" }) => ({ id, found: true }) }),
      define({
        name: "refund",
        input: byId,
        roles: ["support", "admin"],
        authorize: ({ input }) => input["id"] !== "foreign" || "Not your order.",
        handler: ({ id = "" }) => ({ refunded: id }),
      }),
      define({ name: "wipe_all", roles: ["admin"], effect: "destructive", handler: () => "wiped" }),
      define({
        name: "wait",
        input: byId,
        async handler({ id }, { signal }) {
          const text = id as string;
          await held.arrive(text, signal);
          return `waited for ${text}`;
        },
      }),
      define({ name: "brief", timeoutMs: 30, handler: (_, { signal }) => held.arrive("brief", signal) }),
      define({
        name: "fail",
        handler({ kindly }) {
          throw kindly ? new FunctionError("The shop is closed.") : new Error("password=hunter2");
        },
      }),
      define({ name: "large", handler: ({ units }) => "x".repeat(Number(units)) }),
      define({
        name: "report",
        handler(_, { progress }) {
          progress({ percent: 50 });
          return "reported";
        },
      }),
    ],
  });
  return { service, handled, ...held };
}

/** Gates at which handlers wait for the test, by id. */
function gates() {
  const known = new Map<string, ReturnType<typeof gate>>();
  function at(id: string) {
    const found = known.get(id) ?? gate();
    known.set(id, found);
    return found;
  }
  return {
    arrive: (id: string, signal: AbortSignal) => at(id).arrive(signal),
    /** Resolves when a call of `wait` with this id has started. */
    begun: (id: string) => at(id).begun,
    release: (id: string) => at(id).open(),
    /** Resolves when that call was aborted. */
    stopped: (id: string) => at(id).stopped,
  };
}

function gate() {
  const begun = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    stopped: stopped.promise,
    open: () => opened.resolve(),
    arrive(signal: AbortSignal): Promise<void> {
      signal.addEventListener("abort", () => {
        stopped.resolve();
        opened.reject(signal.reason);
      });
      begun.resolve();
      return opened.promise;
    },
  };
}
