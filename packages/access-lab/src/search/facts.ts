import { accessColumns, accessSurface } from "@patchbay/access";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Service } from "@patchbay/functions";
import { slicesOf } from "../code/fingerprint.ts";
import { type Form, formsOf } from "../code/forms.ts";
import { type Dictionary, dictionaryOf } from "./dictionary.ts";

/** The service facts that a search needs. The service's process sends them to the searching process. */
export interface ServiceFacts {
  columns: string[];
  /** Undefined if any object may be a context. */
  context?: JsonObject;
  /** Contexts from cases and example queries. */
  contexts: Named<JsonObject>[];
  functions: Record<string, FunctionFacts>;
}

export interface Named<T> {
  name: string;
  value: T;
}

export interface FunctionFacts {
  input: JsonObject;
  /** Arguments from cases and examples. */
  inputs: Named<JsonValue>[];
  cases: { name: string; input: JsonValue; context: JsonObject; roles?: readonly string[] }[];
  /** An `authorize`, or an approval's `when`, decides each call. */
  isConditional: boolean;
  /** What decides calls one by one. */
  isAuthorized: boolean;
  isApproved: boolean;
  /** Role lists and schemas determine which calls differ: no code in a schema, and no role unknown to the service. */
  isBounded: boolean;
  dictionary: Dictionary;
  /** The declarations that decide its calls, by a hash: equal in two versions with equal code. */
  forms: Record<string, Form>;
}

/** Reads the facts of a service whose code is in `files`. */
export function factsOf(service: Service, files: ReadonlySet<string>): ServiceFacts {
  const functions = [...service.access.values()].map(({ manifest }) => manifest);
  const surface = accessSurface({ ...service.manifest, functions });
  const slices = slicesOf(files);
  const contexts = new Map<string, Named<JsonObject>>();
  const add = (name: string, value: JsonObject) => {
    const text = JSON.stringify(value);
    if (!contexts.has(text)) contexts.set(text, { name, value });
  };
  for (const [name, { cases }] of service.access)
    for (const [caseName, { context }] of cases) add(`${name}.${caseName}`, context);
  for (const { role = "none", context } of service.manifest.exampleQueries ?? [])
    if (context) add(`query as ${role}`, context);
  add("empty", {});
  const isChecked = (service.code()["context"] ?? []).length > 0;
  const { context } = surface;
  return {
    columns: accessColumns({ ...service.manifest, functions }),
    ...(isJsonObject(context) && { context }),
    contexts: [...contexts.values()],
    functions: Object.fromEntries(
      [...service.access].map(([name, { manifest, cases, code }]): [string, FunctionFacts] => {
        const { authorize = [], approval = [], input: ofInput = [] } = code();
        const decides = [...authorize, ...approval];
        const slice = slices(decides);
        const isConditional = manifest.conditional || manifest.approval?.conditional === true;
        const listed = [...cases].map(([caseName, { input }]) => ({ name: caseName, value: input }));
        const examples = (manifest.examples ?? []).map((value, i) => ({
          name: `example ${i + 1}`,
          value: value as JsonValue,
        }));
        return [
          name,
          {
            input: surface.functions[name]!.input!,
            inputs: [...listed, ...examples],
            cases: [...cases].map(([caseName, { input, context: about, roles }]) => ({
              name: caseName,
              input,
              context: about,
              ...(roles && { roles }),
            })),
            isConditional,
            isAuthorized: manifest.conditional,
            isApproved: manifest.approval?.conditional === true,
            isBounded: !isChecked && ofInput.length === 0 && (!isConditional || manifest.roles !== "everyone"),
            dictionary: dictionaryOf(ofInput.length === 0 ? slice : slices([...decides, ...ofInput])),
            forms: formsOf(slice),
          },
        ];
      }),
    ),
  };
}
