import type { CallerIdentity } from "@patchbay/protocol";

/**
 * The decision from `authorize`: `true` allows the call, `false` refuses it, a string refuses it with that message for
 * the model and the caller.
 */
export type Decision = boolean | string;

/** The call that `authorize` decides on. */
export interface Access<Input, Context, Role extends string = string> {
  /** The query's role, or the service's default role, not one that it includes. Undefined without both. */
  readonly role: Role | undefined;
  /** The object in the query's `contextJson`, as the service's schema parsed it; `{}` if the query had none. */
  readonly context: Context;
  /** What a token proved about the query's caller. Undefined without a token. */
  readonly caller: CallerIdentity | undefined;
  /** The call's arguments, as the input schema parsed them. The model wrote them, so do not take an identity from them. */
  readonly input: Input;
}
