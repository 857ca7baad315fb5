import { rolesAllow, type CallOutcome } from "@patchbay/protocol";
import { type JsonObject } from "@patchbay/kit";
import type { Message, ModelProvider } from "@patchbay/control-plane";
import { expect, test } from "vitest";
import type { Invocation, InvokeOptions, Service } from "@patchbay/runtime";
import type { Finding } from "../src/report.ts";
import { runEscalationSuite, type EscalationOptions } from "../src/suite.ts";
import { protectedService } from "./protected-service.ts";

/** Replaces the gate of a service with `invoke`, which has one fault. */
function withInvoke(
  invoke: (service: Service, invocation: Invocation, options: InvokeOptions) => Promise<CallOutcome>,
): EscalationOptions {
  return {
    serve: (service) => ({ ...service, invoke: (invocation, options) => invoke(service, invocation, options) }),
  };
}

async function findingsOf(options: EscalationOptions): Promise<Finding[]> {
  const { findings } = await runEscalationSuite(protectedService(), options);
  return findings;
}

/** The role that a gate without a role check has: one that the function's list contains. */
function anyRoleOf(service: Service, functionName: string, role: string | undefined): string | undefined {
  const definition = service.manifest.functions.find(({ name }) => name === functionName);
  if (!definition || rolesAllow(definition.roles, role)) return role;
  return definition.roles === "everyone" ? role : definition.roles.at(-1);
}

/** The manifest with every function open to everyone, so that the control plane refuses no call. */
function openToEveryone({ manifest }: Service): Pick<Service, "manifest"> {
  const functions = manifest.functions.map((one) => ({ ...one, roles: "everyone" as const }));
  return { manifest: { ...manifest, functions } };
}

test("the unchanged service has no findings", async () => {
  expect(await findingsOf({})).toEqual([]);
});

test("a gate that lowercases names is found although the control plane does not", async () => {
  const findings = await findingsOf(
    withInvoke((service, call, options) =>
      service.invoke({ ...call, functionName: call.functionName.toLowerCase() }, options),
    ),
  );

  expect(findings).toContainEqual({
    role: "manager",
    attack: "frames at the runtime",
    kind: "ran",
    detail: 'erase_orders ran for a call of "ERASE_ORDERS"',
  });
});

test("a gate that trims names is found", async () => {
  const findings = await findingsOf(
    withInvoke((service, call, options) =>
      service.invoke({ ...call, functionName: call.functionName.trim() }, options),
    ),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({ kind: "ran", detail: 'get_order ran for a call of "get_order "' }),
  );
});

test("a control plane that offers and sends every function is found although the runtime refuses the calls", async () => {
  const findings = await findingsOf({ serve: (service) => ({ ...service, ...openToEveryone(service) }) });

  expect(findings).toContainEqual({
    role: "customer",
    attack: "forbidden calls",
    kind: "dispatched",
    detail: 'the control plane sent a call of "erase_orders" to the runtime',
  });
  expect(findings).toContainEqual(
    expect.objectContaining({ role: null, kind: "shown", detail: "the model was shown erase_orders" }),
  );
  expect(findings.filter(({ kind }) => kind === "ran")).toEqual([]);
});

test("a runtime without a role check is found although the control plane has one", async () => {
  const findings = await findingsOf(
    withInvoke((service, call, options) => {
      const role = anyRoleOf(service, call.functionName, call.role);
      return service.invoke({ ...call, ...(role !== undefined && { role }) }, options);
    }),
  );

  expect(findings).toContainEqual({
    role: "customer",
    attack: "frames at the runtime",
    kind: "ran",
    detail: "erase_orders ran although its roles do not include customer",
  });
  expect(new Set(findings.map(({ attack }) => attack))).toEqual(new Set(["frames at the runtime"]));
});

test("a missing role check on both sides is found by every attack that calls functions", async () => {
  const findings = await findingsOf({
    serve: (service) => ({
      ...service,
      ...openToEveryone(service),
      invoke(call, options) {
        const role = anyRoleOf(service, call.functionName, call.role);
        return service.invoke({ ...call, ...(role !== undefined && { role }) }, options);
      },
    }),
  });

  const ran = findings.filter(({ kind, role }) => kind === "ran" && role === "customer").map(({ attack }) => attack);
  for (const attack of [
    "forbidden calls",
    "role in arguments",
    "role in contextJson",
    "role in the query",
    "instructions in results",
    "instructions in earlier turns",
    "thread of another role",
    "forged call ids",
    "frames at the runtime",
    "chat completions",
    "chats",
    "client tokens",
    "calls of MCP",
    "queries of MCP",
    "client tokens of MCP",
  ])
    expect(ran).toContain(attack);
});

test.each([
  ["contextJson", (call: Invocation) => call.context],
  ["arguments", (call: Invocation) => call.arguments as JsonObject],
])("a gate that believes a role in the %s is found", async (_, claimsIn) => {
  const findings = await findingsOf(
    withInvoke((service, call, options) => {
      const claimed = claimsIn(call)["role"];
      return service.invoke({ ...call, ...(typeof claimed === "string" && { role: claimed }) }, options);
    }),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({ role: "customer", kind: "ran", detail: expect.stringContaining("erase_orders ran") }),
  );
});

test("a gate that evades authorize is found", async () => {
  const findings = await findingsOf(
    withInvoke((service, call, options) => service.invoke({ ...call, context: { customerId: "bob" } }, options)),
  );

  expect(findings).toContainEqual({
    role: "customer",
    attack: "forbidden calls",
    kind: "ran",
    detail: "get_order ran although authorize refuses the call",
  });
});

test("restricted fields in results are found in model requests", async () => {
  const whole = new Map<string, CallOutcome>();
  const findings = await findingsOf(
    withInvoke(async (service, call, options) => {
      const outcome = await service.invoke(call, options);
      if (!outcome.ok || call.functionName !== "get_order") return outcome;
      whole.set(call.callId, await service.invoke({ ...call, role: "manager" }, options));
      return whole.get(call.callId)!;
    }),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({
      role: "customer",
      kind: "leaked",
      detail: expect.stringMatching(/margin of get_order is in requests/),
    }),
  );
});

test("a cache that ignores the role is found", async () => {
  const cache = new Map<string, Promise<CallOutcome>>();
  const findings = await findingsOf(
    withInvoke((service, call, options) => {
      const key = JSON.stringify([call.functionName, call.arguments, call.context]);
      const known = cache.get(key) ?? service.invoke(call, options);
      cache.set(key, known);
      return known;
    }),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({
      kind: "leaked",
      detail: expect.stringMatching(/a result that .* got of .* is in (requests|answer|events)/),
    }),
  );
});

test("a thread that keeps the turns of other roles is found", async () => {
  const said = new Map<string, Message[]>();
  const wrapModel = (model: ModelProvider): ModelProvider => ({
    name: model.name,
    stream(request, options) {
      const before = said.get(request.threadId) ?? [];
      said.set(request.threadId, [...before, ...request.messages]);
      return model.stream({ ...request, messages: [...before, ...request.messages] }, options);
    },
  });

  const findings = await findingsOf({ wrapModel });

  expect(findings).toContainEqual(
    expect.objectContaining({
      role: "customer",
      attack: "thread of another role",
      kind: "leaked",
      detail: expect.stringMatching(/^a result that manager got of .* is in requests/),
    }),
  );
});

test("results in a log are found", async () => {
  const findings = await findingsOf(
    withInvoke(async (service, call, options) => {
      const outcome = await service.invoke(call, options);
      options.log.info("call done", { outcome });
      return outcome;
    }),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({ kind: "leaked", detail: expect.stringContaining("is in the runtime's log") }),
  );
});

test("the message of a handler's error is found outside the log", async () => {
  const findings = await findingsOf(
    withInvoke(async (service, call, options) => {
      let words = "";
      const log = {
        ...options.log,
        child: () => log,
        error: (_: string, fields?: object) => void (words = String((fields as { error?: Error })?.error)),
      };
      const outcome = await service.invoke(call, { ...options, log });
      return words === "" ? outcome : { ok: false, code: "function_failed", message: words };
    }),
  );

  expect(findings).toContainEqual(
    expect.objectContaining({
      attack: "handler errors",
      kind: "leaked",
      detail: expect.stringMatching(/^the text of an error of \w+ is in (requests|answer|events)/),
    }),
  );
});
