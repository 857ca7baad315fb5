import { actsAs, type Inclusions, type Manifest, rolesOf } from "@patchbay/protocol";

/**
 * What the roles of an agent include. In several services, a role includes another only if each service that knows the
 * other says so: an inclusion in one service must not open functions of another.
 */
export function commonInclusions(manifests: readonly Manifest[]): Inclusions | undefined {
  const [only, ...more] = manifests;
  if (more.length === 0) return only?.roleOptions;
  const known = manifests.map((manifest) => ({ roles: rolesOf(manifest), options: manifest.roleOptions }));
  const isCommon = (role: string, other: string): boolean =>
    known.every(({ roles, options }) => !roles.has(other) || actsAs(role, options).has(other));
  const roles = new Set(known.flatMap(({ options = {} }) => Object.keys(options)));
  const common = [...roles].map((role) => {
    const included = new Set(known.flatMap(({ options }) => [...actsAs(role, options)]));
    const description = known.find(({ options }) => options?.[role]?.description)?.options![role]!.description;
    const includes = [...included].filter((other) => other !== role && isCommon(role, other));
    return [role, { ...(includes.length > 0 && { includes }), ...(description !== undefined && { description }) }];
  });
  return common.length > 0 ? Object.fromEntries(common) : undefined;
}
