import { describe } from "vitest";
import { accountContract } from "./contract/accounts.ts";
import { auditContract } from "./contract/audit.ts";
import { callContract } from "./contract/calls.ts";
import { claimContract } from "./contract/claims.ts";
import { consoleAgentContract } from "./contract/console-agents.ts";
import { consoleFunctionContract } from "./contract/console-functions.ts";
import { consoleAuditContract } from "./contract/console-audit.ts";
import { consoleCreditContract } from "./contract/console-credits.ts";
import { figureContract } from "./contract/console-figures.ts";
import { consoleRunContract } from "./contract/console-runs.ts";
import { consoleThreadContract } from "./contract/console-threads.ts";
import { creditContract } from "./contract/credits.ts";
import { idempotencyContract } from "./contract/idempotency.ts";
import { memberContract } from "./contract/members.ts";
import { momentContract } from "./contract/moments.ts";
import { raceContract } from "./contract/races.ts";
import { runContract } from "./contract/runs.ts";
import { runtimeContract } from "./contract/runtimes.ts";
import { textContract } from "./contract/texts.ts";
import { threadContract } from "./contract/threads.ts";
import { upkeepContract } from "./contract/upkeep.ts";
import type { MakePlace } from "./contract/world.ts";

/** What every store must do, whatever database it stands on. */
export function storeContract(makePlace: MakePlace): void {
  describe("runs", () => runContract(makePlace));
  describe("Idempotency-Keys", () => idempotencyContract(makePlace));
  describe("claims", () => claimContract(makePlace));
  describe("calls between replicas", () => callContract(makePlace));
  describe("moments of calls and turns", () => momentContract(makePlace));
  describe("runtimes", () => runtimeContract(makePlace));
  describe("credits", () => creditContract(makePlace));
  describe("threads", () => threadContract(makePlace));
  describe("accounts", () => accountContract(makePlace));
  describe("members of the console", () => memberContract(makePlace));
  describe("races", () => raceContract(makePlace));
  describe("odd texts", () => textContract(makePlace));
  describe("the audit log", () => auditContract(makePlace));
  describe("agents in the console", () => consoleAgentContract(makePlace));
  describe("functions in the console", () => consoleFunctionContract(makePlace));
  describe("runs in the console", () => consoleRunContract(makePlace));
  describe("threads and sessions in the console", () => consoleThreadContract(makePlace));
  describe("figures over a time", () => figureContract(makePlace));
  describe("credits over a time", () => consoleCreditContract(makePlace));
  describe("the console's audit log", () => consoleAuditContract(makePlace));
  describe("upkeep", () => upkeepContract(makePlace));
}
