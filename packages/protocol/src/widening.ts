import type { FunctionManifest, Manifest } from "./manifest.ts";

/** One way in which a function set lets somebody do or see more than another one. */
export interface Widening {
  kind: string;
  functionName?: string;
  /** Such as `guest may call wipe_data`. */
  text: string;
}

/** What `after` allows and `before` did not. Empty when it allows nothing more. */
export function widenings(before: Manifest, after: Manifest): Widening[] {
  const known = new Map(before.functions.map((one) => [one.name, one]));
  return after.functions.flatMap((one) => widened(known.get(one.name), one));
}

function widened(before: FunctionManifest | undefined, after: FunctionManifest): Widening[] {
  const { name: functionName, roles } = after;
  if (roles === "everyone" && before?.roles !== "everyone")
    return [{ kind: "everyone", functionName, text: `everyone may call ${functionName}` }];
  if (before === undefined || before.roles === "everyone" || roles === "everyone") return [];
  const known = new Set(before.roles);
  return roles
    .filter((role) => !known.has(role))
    .map((role) => ({ kind: "role", functionName, text: `${role} may call ${functionName}` }));
}
