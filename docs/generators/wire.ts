import {
  CallOutcome,
  ControlPlaneFrame,
  FunctionManifest,
  HookCall,
  HookVerdict,
  Manifest,
  PreparedContext,
  RuntimeFrame,
} from "@patchbay/protocol";
import { z } from "zod";
import { type JsonSchema, schemaSections } from "./schemas.ts";
import type { Section } from "./section.ts";

/** The frames of a runtime's connection, and what they carry, from the schemas that both sides parse with. */
export function wireSections(): Section[] {
  const named = { Manifest, FunctionManifest, CallOutcome, PreparedContext, HookCall, HookVerdict };
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries({ RuntimeFrame, ControlPlaneFrame, ...named }))
    registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { unrepresentable: "any", io: "input", uri: (id) => `#/${id}` });
  const section = (name: string, heading: string): Section => ({
    heading,
    entries: [],
    sections: schemaSections(schemas[name] as JsonSchema),
  });
  return [
    section("RuntimeFrame", "Frames of the runtime"),
    section("ControlPlaneFrame", "Frames of the control plane"),
    ...Object.keys(named).map((name) => section(name, name)),
  ];
}
