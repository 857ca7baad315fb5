import type { FunctionManifest, Manifest, Roles } from "@patchbay/protocol";
import type { World } from "./world.ts";

export interface Noted {
  service?: string;
  deployment?: string;
  instance?: string;
  functionName?: string;
  roles: Roles;
  defaultRole?: string;
}

export async function note({ store, agentId }: Pick<World, "store" | "agentId">, noted: Noted) {
  const { service = "desk", deployment, instance = "", functionName = "wipe", roles, defaultRole } = noted;
  const manifest: Manifest = {
    ...manifestOf(service, functionName, roles),
    ...(defaultRole !== undefined && { defaultRole }),
  };
  const manifestHash = `${service}:${String(roles)}${defaultRole === undefined ? "" : ` by default ${defaultRole}`}`;
  await store.runtimes.saveManifest(agentId, manifestHash, manifest);
  const named = deployment !== undefined;
  const set = { service, deployment: deployment ?? instance, named, manifestHash };
  return store.runtimes.noteSet(agentId, set, manifest, { keyId: "key_1" });
}

export function manifestOf(name: string, functionName: string, roles: Roles): Manifest {
  const one: FunctionManifest = {
    name: functionName,
    description: "",
    inputSchema: { type: "object" },
    roles,
    conditional: false,
    effect: "write",
    idempotent: false,
    timeoutMs: 1_000,
  };
  return { name, preparesContext: false, functions: [one] };
}
