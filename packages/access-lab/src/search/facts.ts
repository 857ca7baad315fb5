import { accessColumns, accessSurface } from "@patchbay/access";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
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
  contexts: JsonObject[];
  functions: Record<string, FunctionFacts>;
}

export interface FunctionFacts {
  input: JsonObject;
  /** Arguments from cases and examples. */
  inputs: JsonValue[];
  cases: { input: JsonValue; context: JsonObject; roles?: readonly string[] | undefined }[];
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
  const contexts = [
    ...[...service.access.values()].flatMap(({ cases }) => [...cases.values()].map(({ context }) => context)),
    ...(service.manifest.exampleQueries ?? []).flatMap(({ context }) => (context ? [context] : [])),
    {},
  ];
  const isChecked = (service.code()["context"] ?? []).length > 0;
  const { context } = surface;
  return {
    columns: accessColumns({ ...service.manifest, functions }),
    ...(isJsonObject(context) && { context }),
    contexts: [...new Map(contexts.map((one) => [canonicalJson(one), one])).values()],
    functions: Object.fromEntries(
      [...service.access].map(([name, { manifest, parsing, cases, code }]): [string, FunctionFacts] => {
        const { authorize = [], approval = [], input: ofInput = [] } = code();
        const decides = [...authorize, ...approval];
        const slice = slices(decides);
        const isConditional = manifest.conditional || manifest.approval?.conditional === true;
        return [
          name,
          {
            input: surface.functions[name]!.input!,
            inputs: [...[...cases.values()].map(({ input }) => input), ...((manifest.examples as JsonValue[]) ?? [])],
            cases: [...cases.values()],
            isConditional,
            isAuthorized: manifest.conditional,
            isApproved: manifest.approval?.conditional === true,
            isBounded: !isChecked && ofInput.length === 0 && (!isConditional || manifest.roles !== "everyone"),
            dictionary: dictionaryOf(ofInput.length === 0 ? slice : slices([...decides, ...ofInput])),
            // A change of what a schema does before it judges concerns all code behind it.
            forms: formsOf(slice, JSON.stringify([service.parsing(), parsing()])),
          },
        ];
      }),
    ),
  };
}
