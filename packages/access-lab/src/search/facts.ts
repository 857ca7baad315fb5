import { accessColumns, accessSurface, isCounted } from "@patchbay/access";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { FunctionManifest } from "@patchbay/protocol";
import type { Service } from "@patchbay/functions";
import type { Slice } from "../code/slice.ts";
import { type Form, formsOf } from "../code/forms.ts";
import { Decisions } from "../solve/decision.ts";
import { readCode } from "../solve/code.ts";
import { solve } from "../solve/solve.ts";
import { type Dictionary, dictionaryOf, type Named, namedIn, withValues } from "./dictionary.ts";
import { type Call, withoutSubject } from "./judge.ts";
import { createRandom } from "./random.ts";
import { Values } from "./values.ts";

/** The service facts that a search needs. The service's process sends them to the searching process. */
export interface ServiceFacts {
  columns: string[];
  /** Undefined if any object may be a context. */
  context?: JsonObject;
  /** Contexts from cases and example queries. */
  contexts: JsonObject[];
  /** Those for which the service names no subject. */
  unnamed: JsonObject[];
  /** Values from the cases of all functions, from records and from stored calls. */
  named: Named;
  functions: Record<string, FunctionFacts>;
}

export interface FunctionFacts {
  input: JsonObject;
  /** Arguments from cases and examples. */
  inputs: JsonValue[];
  /** `isCounted`: false for an adopted case whose records do not exist. */
  cases: { input: JsonValue; context: JsonObject; roles?: readonly string[] | undefined; isCounted: boolean }[];
  /** An `authorize`, or an approval's `when`, decides each call. */
  isConditional: boolean;
  /** What decides calls one by one. */
  isAuthorized: boolean;
  isApproved: boolean;
  /** Role lists and schemas determine which calls differ: no code in a schema, and no role unknown to the service. */
  isBounded: boolean;
  dictionary: Dictionary;
  /** Calls for the conditions of its code. */
  solved: Call[];
  /** What its code decides, by a hash that is equal for equal decisions. Undefined if that is not exactly known. */
  decision: string | undefined;
  /** The declarations that decide its calls, by a hash: equal in two versions with equal code. */
  forms: Record<string, Form>;
}

/** Values by name as objects of one member each. */
const recordsOf = (named: Named): JsonObject[] =>
  Object.entries(named).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));

/** Calls from which the others of a function are made. */
const MOST_BASES = 3;

/** What a search is about. */
export interface Sought {
  /** Further values by the name of their member. */
  known?: Named;
  /** The functions. Default: all. */
  only?: readonly string[] | undefined;
}

/** Reads the facts of a service whose code is in `files`. */
export async function factsOf(
  service: Service,
  files: ReadonlySet<string>,
  { known = {}, only }: Sought = {},
): Promise<ServiceFacts> {
  const functions = [...service.access.values()].map(({ manifest }) => manifest);
  const surface = accessSurface({ ...service.manifest, functions });
  const owners = readCode(files);
  const { slice: slices } = owners;
  const decisions = new Decisions(service, owners);
  const declaredContexts = [
    ...[...service.access.values()].flatMap(({ cases }) => [...cases.values()].map(({ context }) => context)),
    ...(service.manifest.exampleQueries ?? []).flatMap(({ context }) => (context ? [context] : [])),
    {},
  ];
  const unnamed = await withoutSubject(service, declaredContexts);
  const contexts = [...declaredContexts, ...unnamed];
  const isChecked = (service.code()["context"] ?? []).length > 0;
  const { context } = surface;
  const { contextSchema } = service.manifest;
  const columns = accessColumns({ ...service.manifest, functions });
  const declared = [...service.access.values()].flatMap(({ cases }) => [...cases.values()].map(({ input }) => input));
  const named = namedIn([...declared, ...contexts, ...recordsOf(await service.records()), ...recordsOf(known)]);
  const solvedFor = (slice: Slice, { inputSchema }: FunctionManifest, cases: readonly Call[]): Call[] => {
    const dictionary = withValues(dictionaryOf(slice), [...declared, ...contexts]);
    const values = new Values(inputSchema, { dictionary, random: createRandom(0), named });
    const bases =
      cases.length > 0 ? cases : contexts.slice(0, MOST_BASES).map((one) => ({ input: values.sample(), context: one }));
    const valuesFor = (schema: JsonValue, name: string) => values.scalars(schema, name);
    return solve(
      slice,
      { input: inputSchema, context: contextSchema, roles: columns, valuesFor, reader: owners.reader() },
      bases.slice(0, MOST_BASES),
    );
  };
  return {
    columns,
    named,
    unnamed,
    ...(isJsonObject(context) && { context }),
    contexts: [...new Map(contexts.map((one) => [canonicalJson(one), one])).values()],
    functions: Object.fromEntries(
      [...service.access].map(([name, { manifest, parsing, cases, code }]): [string, FunctionFacts] => {
        const { authorize = [], approval = [], input: ofInput = [] } = code();
        const decides = [...authorize, ...approval];
        const slice = slices(decides);
        const input = surface.functions[name]!.input!;
        const isConditional = manifest.conditional || manifest.approval?.conditional === true;
        return [
          name,
          {
            input,
            inputs: [...[...cases.values()].map(({ input }) => input), ...((manifest.examples as JsonValue[]) ?? [])],
            cases: [...cases].map(([name, one]) => ({ ...one, isCounted: isCounted(name) })),
            isConditional,
            isAuthorized: manifest.conditional,
            isApproved: manifest.approval?.conditional === true,
            isBounded: !isChecked && ofInput.length === 0 && (!isConditional || manifest.roles !== "everyone"),
            dictionary: dictionaryOf(ofInput.length === 0 ? slice : slices([...decides, ...ofInput])),
            solved:
              isConditional && (only?.includes(name) ?? true) ? solvedFor(slice, manifest, [...cases.values()]) : [],
            decision: decisions.hashOfAll([authorize, approval]),
            // A change of what a schema does before it judges concerns all code behind it.
            forms: formsOf(slice, JSON.stringify([service.parsing(), parsing()])),
          },
        ];
      }),
    ),
  };
}
