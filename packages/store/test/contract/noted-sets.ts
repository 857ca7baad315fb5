import type { FunctionManifest, Manifest, Roles } from "@patchbay/protocol";
import type { World } from "./world.ts";

/** Unnamed processes of the service desk say hello, one after the other. */
export async function startMany({ place, orgId, agentId }: World, count: number): Promise<void> {
  await place.execute(`insert into function_sets (agent_id, service, deployment, named, manifest_hash, org_id, place,
      position, first_seen_at, widenings, confirmation)
    with recursive starts (n) as (select 1 union all select n + 1 from starts where n < ${count})
    select '${agentId}', 'desk', 'start ' || n, 0, 'desk:a', '${orgId}', last_set_position + n,
      last_set_position + n, 0, '[]', 'none' from starts, agents where id = '${agentId}'`);
  await place.execute(`update agents set last_set_position = last_set_position + ${count} where id = '${agentId}'`);
}

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
