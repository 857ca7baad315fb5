import { fileURLToPath } from "node:url";
import type { Installation } from "./build.ts";
import type { Figures } from "./figures.ts";
import { start } from "./process.ts";

const script = (name: string): string => fileURLToPath(new URL(`round-trip/${name}.ts`, import.meta.url));

/** One function call between two processes: over Patchbay's gateway alone, without storing, and over the floor's WebSocket. */
export function roundTrips(installation: Installation, service: string, floorFunctions: string) {
  const modules = ["index.js", "gateway/gateway.js", "bus/memory-bus.js"].map(installation.controlPlane);
  return {
    A: () => measure("patchbay", [installation.command, service, ...modules]),
    B: () => measure("floor", [floorFunctions]),
  };
}

async function measure(name: string, args: readonly string[]): Promise<Figures> {
  await using started = await start(script(name), args);
  return started.ready["figures"] as unknown as Figures;
}
