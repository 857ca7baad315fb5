import { type ErrorReport, LIMITS } from "@patchbay/protocol";

/** Causes of causes; a longer chain is cut. */
const CAUSES = 5;

/** What a console member sees about an error from the owner's code. */
export function reportOf(error: unknown): ErrorReport {
  if (!(error instanceof Error))
    return { name: "Error", message: cut(`Thrown: ${textOf(error)}`, LIMITS.errorMessageUnits), stack: "" };
  return {
    name: cut(textOf(error.name), LIMITS.labelUnits),
    message: cut(textOf(error.message), LIMITS.errorMessageUnits),
    stack: cut(stackOf(error), LIMITS.errorStackUnits),
  };
}

function stackOf(error: Error): string {
  const stacks: string[] = [];
  for (let current: unknown = error; current !== undefined && stacks.length <= CAUSES;) {
    stacks.push(current instanceof Error ? (stackText(current) ?? textOf(current)) : textOf(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  return stacks.join("\nCaused by: ");
}

const cut = (text: string, units: number): string => (text.length <= units ? text : `${text.slice(0, units - 1)}…`);

/** V8 makes the text when it is first read, from a name and a message that may not be texts. */
function stackText(error: Error): string | undefined {
  try {
    return typeof error.stack === "string" ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

/** The conversion of a thrown value may throw itself. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "a value without a text";
  }
}
