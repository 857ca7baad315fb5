/** Thrown by a handler to tell the model and the caller why a call failed: `message` reaches both exactly as written. Any other error of a handler stays in the owner's log. */
export class FunctionError extends Error {
  override readonly name = "FunctionError";
}

/** A function or a service that cannot be what its definition says. Thrown while defining, so a program with such a mistake does not start. */
export class DefinitionError extends Error {
  override readonly name = "DefinitionError";
}
