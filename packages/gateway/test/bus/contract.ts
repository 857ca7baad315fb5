import { describe } from "vitest";
import { publishContract } from "./contract/publish.ts";
import { requestContract } from "./contract/request.ts";
import type { MakeEnds } from "./ends.ts";

/** The contract suite of the `Bus` port. */
export function busContract(makeEnds: MakeEnds): void {
  describe("publish", () => publishContract(makeEnds));
  describe("request", () => requestContract(makeEnds));
}
