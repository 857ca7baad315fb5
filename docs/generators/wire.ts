import { CHECKS, FUNCTIONS } from "@patchbay/conformance/checks";
import {
  CallerIdentity,
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
  const named = { Manifest, FunctionManifest, CallOutcome, PreparedContext, CallerIdentity, HookCall, HookVerdict };
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
    ...conformanceSections(),
  ];
}

/** The functions that a runtime serves for the conformance kit, and the checks of the kit. */
function conformanceSections(): Section[] {
  const code = (value: unknown) => `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
  return [
    {
      heading: "Functions for the conformance kit",
      columns: ["function", "input", "what it does"],
      entries: Object.entries(FUNCTIONS).map(([name, description]) => ({
        name: code(name),
        facts: "`{ key: string; by: number }`",
        description,
      })),
    },
    {
      heading: "Checks of the conformance kit",
      columns: ["check", "rule", "what the kit does, and what it reads from a runtime that passes"],
      entries: Object.entries(CHECKS).map(([name, { rule, does, expects }]) => ({
        name: code(name),
        facts: rule,
        description: `${does} Passes with ${expects.map(code).join(", ")}.`,
      })),
    },
  ];
}
