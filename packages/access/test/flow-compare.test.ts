import type { FlowRules, FunctionManifest, Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { accessSurface, compareAccess, flowPairs, heldBy } from "../src/index.ts";

const BASE: FlowRules = {
  mode: "ask",
  by: ["admin"],
  returns: "untrusted",
  untrusted: ["a"],
  secret: ["b"],
  targets: { to: "caller", id: "trusted" },
  sends: ["body"],
  verbs: ["mail"],
};

const service = (flow: FlowRules | undefined, more: Partial<FunctionManifest> = {}): Manifest => ({
  name: "desk",
  preparesContext: false,
  functions: [
    {
      name: "send",
      description: "Sends.",
      inputSchema: { type: "object" },
      roles: ["user"],
      conditional: false,
      effect: "destructive",
      idempotent: false,
      timeoutMs: 1_000,
      ...(flow && { flow }),
      ...more,
    },
  ],
});

const LOOSER: [string, FlowRules | undefined, number][] = [
  ["no rules", undefined, 7],
  ["a milder mode", { ...BASE, mode: "report" }, 1],
  ["another approver", { ...BASE, by: ["admin", "caller"] }, 1],
  ["trusted results", { ...BASE, returns: "trusted" }, 1],
  ["a lost label untrusted", { ...BASE, untrusted: [] }, 1],
  ["a lost label secret", { ...BASE, secret: [] }, 1],
  ["a looser target", { ...BASE, targets: { to: "trusted", id: "trusted" } }, 1],
  ["a target less", { ...BASE, targets: { to: "caller" } }, 1],
  ["no targets", { ...BASE, targets: {} }, 2],
  ["nothing sent", { ...BASE, sends: [] }, 1],
  ["another verb", { ...BASE, verbs: ["mail", "look"] }, 1],
];

test.each(LOOSER)("%s is a widening, and the reverse is a narrowing", (_, flow, widenings) => {
  const [strict, loose] = [service(BASE), service(flow)];
  const kinds = (before: Manifest, after: Manifest) =>
    compareAccess(before, after).map(({ kind, about }) => `${kind} ${about}`);
  expect(kinds(strict, loose).filter((kind) => kind === "widening flow")).toHaveLength(widenings);
  expect(kinds(loose, strict).filter((kind) => kind === "narrowing flow")).toHaveLength(widenings);
  expect(kinds(loose, strict)).not.toContain("widening flow");
});

test("a function of the open world returns untrusted data unless it says otherwise", () => {
  const open = service({ mode: "ask" }, { openWorld: true });
  const stated = service({ mode: "ask", returns: "trusted" }, { openWorld: true });

  expect(compareAccess(open, stated)).toMatchObject([{ kind: "widening", about: "flow" }]);
});

test("each source and sink that a role may combine is a pair with the verdict of the sink's rules", () => {
  const lock = accessSurface({
    ...service({ mode: "ask", targets: { to: "caller" }, sends: ["body"] }),
    functions: [
      ...service({ mode: "ask", targets: { to: "caller" }, sends: ["body"] }).functions,
      ...service({ mode: "ask", targets: { to: "any" } }, { name: "wipe" }).functions,
      ...service({ mode: "ask", untrusted: ["[]"] }, { name: "read", effect: "read", roles: ["user", "guest"] })
        .functions,
      ...service({ mode: "ask", secret: ["card"] }, { name: "card", effect: "read" }).functions,
    ],
  });

  expect(flowPairs(lock, ["user", "guest"])).toEqual([
    { role: "user", source: "read", label: "untrusted", sink: "send", verdict: "asked", proof: "proved" },
    { role: "user", source: "read", label: "untrusted", sink: "wipe", verdict: "open", proof: "open" },
    { role: "user", source: "card", label: "secret", sink: "send", verdict: "asked", proof: "proved" },
  ]);
  expect(heldBy(lock, "user")).toEqual({ untrusted: ["read"], private: ["card"], outward: ["send"] });
});

test.each([
  ["the caller's targets", { mode: "deny", targets: { to: "caller" } }, "proved"],
  ["a target that a trusted result may give", { mode: "deny", targets: { to: "caller", id: "trusted" } }, "open"],
  ["calls that are only reported", { mode: "report", targets: { to: "caller" } }, "open"],
  ["no targets", { mode: "deny" }, "open"],
  ["a foreign description of the source", { mode: "deny", foreign: true, targets: { to: "caller" } }, "proved"],
] as const)("a pair whose sink has %s is as sure as its rules", (_, flow, proof) => {
  const { foreign, ...sink } = { foreign: undefined, ...flow };
  const source = foreign
    ? { mode: "deny" as const, foreign }
    : { mode: "deny" as const, returns: "untrusted" as const };
  const functions = [...service(sink).functions, ...service(source, { name: "read", effect: "read" }).functions];

  expect(flowPairs(accessSurface({ ...service(undefined), functions }), ["user"])).toMatchObject([
    { source: "read", sink: "send", proof },
  ]);
});

test("a tool of another server decides nothing in a service without a mode, and its lock does not change", () => {
  const lockOf = (flow?: FlowRules) => accessSurface(service(flow)).functions;

  expect(lockOf({ foreign: true, returns: "untrusted" })).toEqual(lockOf());
});
