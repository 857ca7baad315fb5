import { describe } from "vitest";
import type { ScriptedError, Wire } from "../../../../test/support/providers/index.ts";
import { failureContract } from "./contract-failures.ts";
import { streamContract } from "./contract-streams.ts";
import { turnContract } from "./contract-turns.ts";

/** Where wires differ in what they can do. */
export interface WireTraits {
  wire: Wire;
  model: string;
  takesTemperature: string;
  takesNoTemperature: string;
  /** Gemini's calls arrive whole or not at all. */
  seesCutCalls: boolean;
  quota: ScriptedError;
  tooLong: ScriptedError;
  retryAfter: ScriptedError;
}

/** What every adapter of a model provider must do, over its real wire format. */
export function modelContract(traits: WireTraits): void {
  describe(traits.wire, () => {
    turnContract(traits);
    streamContract(traits);
    failureContract(traits);
  });
}
