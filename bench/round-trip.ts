import { fileURLToPath } from "node:url";
import type { Figures } from "./figures.ts";
import { start } from "./process.ts";

const script = (name: string): string => fileURLToPath(new URL(`round-trip/${name}.ts`, import.meta.url));

/** One function call between two processes: over Patchbay's gateway only, without storage, and over the floor's WebSocket. */
export function roundTrips(ours: { command: string; parts: string; service: string }, floorFunctions: string) {
  return {
    A: () => measure("patchbay", [ours.command, ours.service, ours.parts]),
    B: () => measure("floor", [floorFunctions]),
  };
}

async function measure(name: string, args: readonly string[]): Promise<Figures> {
  await using started = await start(script(name), args);
  return started.ready["figures"] as unknown as Figures;
}
