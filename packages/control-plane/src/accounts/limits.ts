import { OperatorLimits } from "@patchbay/protocol";

/** The default limits, changed by the text of a limits file. Throws an error that lists every fault of the file. */
export function parseLimits(text: string): OperatorLimits {
  const parsed = OperatorLimits.safeParse(parseText(text));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
  throw new Error(`${FORM} ${faults.join("; ")}.`);
}

const FORM = 'A limits file is JSON like {"callsPerTurn": 64, "callsPerRun": 512}.';

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${FORM} This one is not valid JSON.`, { cause });
  }
}
