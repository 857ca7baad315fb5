import { readFileSync } from "node:fs";

export interface Berth {
  owner?: string;
  port: string;
  state: string;
  deputies: string[];
  depth: number;
}

interface Member {
  port: string;
  rank: number;
}

const { berths, members } = JSON.parse(readFileSync(new URL("records.json", import.meta.url), "utf8")) as {
  berths: Record<string, Berth>;
  members: Record<string, Member>;
};

export const berthOf = (id: string): Berth | undefined => (Object.hasOwn(berths, id) ? berths[id] : undefined);
export const memberOf = (id: string | undefined): Member | undefined =>
  id !== undefined && Object.hasOwn(members, id) ? members[id] : undefined;
