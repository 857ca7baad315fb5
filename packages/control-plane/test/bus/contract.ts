import { describe } from "vitest";
import { publishContract } from "./contract/publish.ts";
import { requestContract } from "./contract/request.ts";
import type { MakeEnds } from "./ends.ts";

/** What every bus must do, whatever carries it. */
export function busContract(makeEnds: MakeEnds): void {
  describe("publish", () => publishContract(makeEnds));
  describe("request", () => requestContract(makeEnds));
}
