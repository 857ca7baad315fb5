/** Steps of a path as an owner reads it: `orders[].cost`. A record's keys are data, and stand as `*`. */
export const ROOT = "$";
export const ANY_ITEM = "[]";

export function memberStep(path: string, name: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$-]*$/u.test(name)) return `${path === ROOT ? "" : path}[${JSON.stringify(name)}]`;
  return path === ROOT ? name : `${path}.${name}`;
}

export function anyMemberStep(path: string): string {
  return path === ROOT ? "*" : `${path}.*`;
}

export function itemStep(path: string, index: number | undefined): string {
  return `${path === ROOT ? "" : path}${index === undefined ? ANY_ITEM : `[${index}]`}`;
}
