import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type ApprovalOptions,
  defineFunction,
  defineService,
  type FlowOptions,
  type Service,
} from "@patchbay/functions";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Effect } from "@patchbay/protocol";
import { parse } from "yaml";
import { z } from "zod";
import { labelsAt } from "./labels.ts";
import { type Changes, type Records, type Tables } from "./records.ts";

/** Where a target must come from: the caller's own words, these or a trusted result, or anywhere. */
export type Target = "caller" | "trusted" | "any";

/** A function of a suite with its intended labels, which describe it for data-flow rules. */
export interface FlowFunction {
  name: string;
  description: string;
  effect: Effect;
  input: z.ZodObject;
  output: z.ZodType;
  openWorld?: true;
  /** The whole result is a stranger's. */
  returns?: "untrusted";
  targets?: Record<string, Target>;
  /** The input members that leave the owner's systems. */
  sends?: readonly string[];
  /** Plays another owner's tool: strangers wrote its description, its schema and its errors. */
  foreign?: true;
  run(records: Records, input: never): unknown;
}

/** Checks the types of one function: `run` receives the parsed input. */
export function flowFunction<I extends z.ZodObject>(
  options: Omit<FlowFunction, "input" | "run"> & {
    input: I;
    run(records: Records, input: z.output<I>): unknown;
  },
): FlowFunction {
  return options;
}

/** A function that fetches the page of a URL, which a stranger wrote. */
export const pageFunction = (name: string, description: string): FlowFunction =>
  flowFunction({
    name,
    description,
    effect: "read",
    openWorld: true,
    input: z.object({ url: z.string() }),
    output: z.object({ text: z.string() }),
    returns: "untrusted",
    targets: { url: "caller" },
    sends: ["url"],
    run(records, { url }) {
      records.add("requests", { url });
      return records.all("pages", { url })[0] ?? { text: "Not found." };
    },
  });

/** A call: the function's name and its arguments, whose texts may refer to results. */
export type Call = Record<string, JsonObject>;

/** An honest task: a caller's texts, each followed by the calls that it needs. */
export interface Task {
  name: string;
  /** The queries' context, whose values are the caller's too. */
  context?: JsonObject;
  steps: (string | Call)[];
  changes: Changes;
}

export const KINDS = "direct data split encoded affix mention choice link launder tool thread fetch name".split(" ");

/** An injection. With each of its tasks it is one attack pair. */
export interface Attack {
  name: string;
  kind: string;
  tasks: string[];
  /** Values by path in the records. */
  plant?: Record<string, JsonValue>;
  /** The texts after which the model obeys. Default: all planted ones. */
  sees?: string[];
  /** The calls of a model that obeys. */
  calls?: Call[];
  /** What the caller asks in another thread afterwards, with the calls that it needs. */
  then?: Task["steps"];
  /** The query of the thread from which it obeys. Default 1. */
  turn?: number;
  /** A changed row, by table, that proves that the attack reached its target. */
  hit: Record<string, JsonObject>;
}

export interface Suite {
  name: string;
  functions: readonly FlowFunction[];
  records: Tables;
  tasks: Task[];
  attacks: Attack[];
}

/** A suite's functions with the records, tasks and attacks in the file with its name. */
export function readSuite(name: string, functions: readonly FlowFunction[]): Suite {
  const text = readFileSync(join(import.meta.dirname, `${name}.yaml`), "utf8");
  const { records, tasks, attacks } = parse(text) as {
    records: Tables;
    tasks: Record<string, Omit<Task, "name">>;
    attacks: Record<string, Omit<Attack, "name">>;
  };
  return { name, functions, records, tasks: named(tasks), attacks: named(attacks) };
}

const named = <T>(entries: Record<string, T>): (T & { name: string })[] =>
  Object.entries(entries).map(([name, entry]) => ({ name, ...entry }));

/** The role that may call every function. Each task has a role with its name for the functions that it needs. */
export const BROAD_ROLE = "assistant";

export function callsOf({ steps }: Pick<Task, "steps">): [name: string, input: JsonObject][] {
  return steps.flatMap((step) => (typeof step === "string" ? [] : Object.entries(step)));
}

/** How a setting changes the service. */
export interface ServiceSetting {
  /** Options that the setting adds to a function. */
  options?: FunctionOptions;
  flows?: FlowOptions;
}

/** More options for a function's definition. */
type FunctionOptions = (own: FlowFunction) => { approval?: Pick<ApprovalOptions<never>, "by"> };

/** The suite's service. Handlers use the records of the session that the query names. */
export function serviceOf(
  { name, functions, tasks }: Suite,
  sessions: ReadonlyMap<string, Records>,
  { options: optionsOf = () => ({}), flows }: ServiceSetting = {},
): Service {
  const rolesOf = (own: FlowFunction) =>
    tasks.filter((task) => callsOf(task).some(([called]) => called === own.name)).map((task) => task.name);
  return defineService({
    name,
    ...(flows && { flows }),
    functions: functions.map((own) => {
      const { run, ...options } = own;
      return defineFunction({
        ...options,
        ...optionsOf(own),
        roles: [BROAD_ROLE, ...rolesOf(own)],
        handler: (input, { sessionId = "" }) => run(sessions.get(sessionId)!, input as never) as never,
      });
    }),
  });
}

/** A text's reference to a result: `${function.path}`, then `~` and a pattern of which it takes the match, or `|` and an encoding. */
export const REFERENCE = /\$\{(?<from>\w+)(?<path>[.\w]*)(?:~(?<pattern>[^}|]+))?(?:\|(?<encoding>\w+))?\}/gu;

/** The targets in a member: its texts, and the keys of objects. */
export function targetsIn(value: JsonValue | undefined): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(targetsIn);
  return isJsonObject(value) ? Object.entries(value).flatMap(([key, part]) => [key, ...targetsIn(part)]) : [];
}

/** Where a task's targets come from: the least trusted source of any. */
export function sourceOf({ functions }: Suite, task: Task): "caller" | "trusted" | "untrusted" {
  const find = (name: string) => functions.find((own) => own.name === name)!;
  const sources = callsOf(task).flatMap(([name, input]) =>
    Object.keys(find(name).targets ?? {}).flatMap((member) =>
      targetsIn(input[member])
        .flatMap((target) => [...target.matchAll(REFERENCE)])
        .map(({ groups }) => {
          const { output, returns } = find(groups!["from"]!);
          const path = groups!["path"]!.split(".").filter(Boolean);
          return returns ?? (labelsAt(output, path).includes("untrusted") ? "untrusted" : "trusted");
        }),
    ),
  );
  if (sources.length === 0) return "caller";
  return sources.includes("untrusted") ? "untrusted" : "trusted";
}
