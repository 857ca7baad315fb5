import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { AUDIT_SENTENCES, type NamedAuditRow, sentenceOf } from "../src/audit/sentences.ts";

const sources = fileURLToPath(new URL("../../", import.meta.url));

test("exactly the recorded actions have a sentence", () => {
  const recorded = recordedActions();

  expect(recorded).toEqual(expect.arrayContaining(["run.started", "call.denied", "key.rotated", "member.removed"]));
  expect(Object.keys(AUDIT_SENTENCES).toSorted()).toEqual(recorded);
});

test("a sentence names the actor, the object and the reason of a denial", () => {
  const names = new Map([
    ["mem_1", "Ada"],
    ["key_7", "Web shop"],
    ["key_8", "Web shop"],
    ["agt_1", "Desk"],
  ]);
  const said = (entry: Partial<NamedAuditRow> & { action: string }) => sentenceOf({ id: "aud_1", at: 0, ...entry });

  expect(said({ action: "call.denied", role: "clerk", functionName: "refund", rule: "roles", runId: "run_1" })).toBe(
    "refund was denied as clerk: its role list does not name the role.",
  );
  expect(
    said({ action: "key.created", keyId: "mem_1", names, detail: { credentialId: "key_7", roles: ["clerk"] } }),
  ).toBe("Ada created API key Web shop, pinned to clerk.");
  const rotation = { credentialId: "key_7", replacedBy: "key_8", overlapSeconds: 0 };
  expect(said({ action: "key.rotated", keyId: "mem_1", names, detail: rotation })).toBe(
    "Ada replaced API key Web shop, which ended immediately, by another one.",
  );
  expect(said({ action: "agent.deleted", keyId: "mem_2", agentId: "agt_1", names })).toBe("mem_2 deleted agent Desk.");
  expect(said({ action: "member.removed", keyId: "mem_2", names, detail: { memberId: "mem_1" } })).toBe(
    "mem_2 removed Ada.",
  );
  expect(said({ action: "approval.approved", keyId: "key_7", functionName: "refund", names })).toBe(
    "API key Web shop approved a call of refund.",
  );
  expect(said({ action: "key.revoked", keyId: "key_7" })).toBe("The operator revoked API key key_7.");
  expect(said({ action: "credits.granted", detail: { micros: 12_500_000 } })).toBe(
    "The operator granted $12.50 of credits.",
  );
  const settings = { model: { from: null, to: "m" }, steps: { from: 3, to: null } };
  expect(said({ action: "agent.updated", detail: { changed: ["name", "settings"], settings } })).toBe(
    "The operator changed name, settings (model, steps) of the agent.",
  );
  expect(said({ action: "run.failed", role: "clerk", rule: "deadline_exceeded" })).toBe(
    "A run as clerk failed: deadline_exceeded.",
  );
  expect(said({ action: "run.failed", role: "clerk", rule: "cancelled" })).toBe("A run as clerk was cancelled.");
  expect(said({ action: "call.failed", role: "clerk", functionName: "refund", rule: "cancelled" })).toBe(
    "refund, called as clerk, was cancelled.",
  );
  expect(said({ action: "later.invented" })).toBe("later.invented was recorded.");
});

test("an entry without details has a complete sentence", () => {
  for (const action of Object.keys(AUDIT_SENTENCES)) {
    const sentence = sentenceOf({ id: "aud_1", at: 0, action });
    expect(sentence, action).toMatch(/^\S.+\S\.$/);
    expect(sentence, action).not.toMatch(/undefined|null|NaN|\[object| {2}| [.,]/);
  }
});

/** Actions as the sources write them: in full, or as the second word after one of those of credentials. */
function recordedActions(): string[] {
  const found = new Set<string>();
  const firsts = new Set<string>();
  const seconds = new Set<string>();
  for (const file of globSync("{engine,store,gateway,server,console-api}/src/**/*.ts", { cwd: sources })) {
    if (file.endsWith("audit/sentences.ts")) continue;
    const source = readFileSync(sources + file, "utf8");
    const note = (pattern: RegExp, into: Set<string>) => {
      for (const [, action = ""] of source.matchAll(pattern)) into.add(action);
    };
    note(/\baction(?:: | = )"([a-z_]+\.[a-z_]+)"/g, found);
    note(/\b(?:runEntry|record)\([^;]*?"([a-z]+\.[a-z_]+)"/g, found);
    note(/\baction(?:: | = )[^;\n]*? \? "([a-z]+\.[a-z_]+)"/g, found);
    note(/\baction(?:: | = )[^;\n]*? : "([a-z]+\.[a-z_]+)"/g, found);
    note(/\baction: "([a-z_]+)"/g, firsts);
    note(/`\$\{[\w.[\]]*action\}\.([a-z_]+)`/g, seconds);
  }
  for (const first of firsts) for (const second of seconds) found.add(`${first}.${second}`);
  return [...found].toSorted();
}
