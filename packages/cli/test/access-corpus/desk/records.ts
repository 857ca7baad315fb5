const owners: Record<string, string> = { a: "ada", b: "ben", c: "cid" };
const teams = new Map([
  ["ada", "north"],
  ["ben", "south"],
]);

export function ownerOf(order: string): string | undefined {
  return owners[order];
}

export function teamOf(user: string | undefined): string | undefined {
  return user === undefined ? undefined : teams.get(user);
}

export function countOrders(): number {
  return Object.keys(owners).length;
}
