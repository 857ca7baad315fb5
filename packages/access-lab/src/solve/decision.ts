import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { createMatcher, followRef } from "@patchbay/schema";
import type { Service } from "@patchbay/functions";
import type { Node } from "estree";
import type { Fingerprint } from "@patchbay/functions/access";
import { hashOf } from "../code/forms.ts";
import type { Slice } from "../code/slice.ts";
import type { Code } from "./code.ts";
import { choose, equalTo, type Facts, FALSE, type Form, leaf, over, textOf, TRUE } from "./normal.ts";
import { constant, member, root, type Term } from "./terms.ts";

type OwnersCode = Parameters<Fingerprint>[0][number];

/** Places whose code only allows or refuses. In other places, the result itself counts. */
const DECIDES = ["authorize", "approval"];

/** The normal forms of a service's deciding code. */
export class Decisions {
  readonly #code: Code;
  readonly #entries = new Map<OwnersCode["run"], Slice["entries"]>();
  /** The term of a call for each function and place. */
  readonly #calls = new Map<OwnersCode["run"], { place: string; calls: Term[] }>();

  /** `isBounded`: code that differs only for values that the schemas refuse decides equally. */
  constructor(service: Service, code: Code, { isBounded = false } = {}) {
    this.#code = code;
    const { contextSchema } = service.manifest;
    const { context = [], ...hooks } = service.code();
    const contextFacts = factsOf(contextSchema, context.length === 0 ? service.parsing() : undefined, isBounded);
    for (const { manifest, parsing, code: codeOf } of service.access.values()) {
      const { input = [], output: _, ...deciding } = codeOf();
      const inputFacts = factsOf(manifest.inputSchema, input.length === 0 ? parsing() : undefined, isBounded);
      for (const [place, some] of Object.entries(deciding)) this.#add(place, some, callTerm(inputFacts, contextFacts));
    }
    for (const [place, some] of Object.entries(hooks)) this.#add(place, some, root);
  }

  #add(place: string, code: readonly OwnersCode[], call: Term): void {
    for (const { run } of code) {
      const known = this.#calls.get(run);
      const isShared = known !== undefined && known.place !== place;
      this.#calls.set(run, { place: isShared ? "" : place, calls: [...(known?.calls ?? []), call] });
    }
  }

  /** {@link hashOf} for the code at several places. Undefined without code. */
  hashOfAll(places: readonly (readonly OwnersCode[])[], replaced?: ReadonlyMap<Node, Node>): string | undefined {
    const hashes = places.filter((code) => code.length > 0).map((code) => this.hashOf(code, replaced));
    return hashes.length === 0 || hashes.includes(undefined) ? undefined : hashes.join(" ");
  }

  /** A hash for what a function decides, or `always` or `never`. Undefined if that is not exactly known. `replaced`: parts of the code by others. */
  hashOf(code: readonly OwnersCode[], replaced: ReadonlyMap<Node, Node> = new Map()): string | undefined {
    const [only] = code;
    if (only === undefined || code.length > 1 || only.isWrapped) return undefined;
    const known = this.#calls.get(only.run);
    if (known === undefined || known.place === "") return undefined;
    const entries = this.#entries.get(only.run) ?? this.#code.slice(code).entries;
    this.#entries.set(only.run, entries);
    const forms = entries.flatMap(({ module, node }) =>
      known.calls.map((call) => {
        const isPlain = DECIDES.includes(known.place) || !(node as { async?: boolean }).async;
        const { form } = this.#code.reader(replaced).function(module, node).apply!([call]);
        return isPlain ? decided(known.place, form) : undefined;
      }),
    );
    const [first] = forms;
    if (first === undefined || forms.includes(undefined)) return undefined;
    const all = [...new Set(forms.map((form) => textOf(form!)))];
    if (DECIDES.includes(known.place) && all.length === 1 && !first.test) return first.value!.is ? "always" : "never";
    return hashOf([known.place, ...all].sort().join());
  }
}

/** Only `true` allows, and only `false` needs no approval. */
function decided(place: string, form: Form | undefined): Form | undefined {
  if (place === "authorize") return over(form, (value) => choose(equalTo(value, true), TRUE, FALSE), FALSE);
  return place === "approval" ? over(form, (value) => choose(equalTo(value, false), FALSE, TRUE)) : form;
}

function callTerm(input: Facts, context: Facts): Term {
  const leaves: Readonly<Record<string, Form>> = {
    role: leaf("role", { type: "string" }),
    input: leaf("input", { ...input, isObject: true }),
    context: leaf("context", { ...context, isObject: true }),
  };
  const field = (name: string) =>
    Object.hasOwn(leaves, name) ? { ...member(root, constant(name)), form: leaves[name] } : undefined;
  return { ...root, field };
}

/** Steps to check one value. */
const STEPS = 20_000;
const SCALARS = ["string", "number", "integer", "boolean", "null"];

/** What a schema says about values that code receives. Nothing if it converts values, so that `parsing` is not given. */
function factsOf(
  whole: JsonObject | undefined,
  parsing: Readonly<Record<string, string>> | undefined,
  isBounded: boolean,
): Facts {
  const kinds = parsing && Object.keys(parsing).map((key) => key.split(" ")[0]);
  if (whole === undefined || kinds === undefined || kinds.includes("converts")) return {};
  const matches = createMatcher(whole);
  const facts = (schema: JsonValue, isRequired: boolean): Facts => {
    const { $ref } = isJsonObject(schema) ? schema : {};
    const own = typeof $ref === "string" ? followRef(whole, $ref) : schema;
    if (!isJsonObject(own)) return {};
    const { type, properties, required = [], items, prefixItems, default: given, minimum, maximum } = own;
    // Only a schema of a library adds its defaults.
    const initial = kinds.includes("default") ? given : undefined;
    const types = [type].flat() as string[];
    const isScalar = type !== undefined && types.every((one) => SCALARS.includes(one));
    const isListed = own["enum"] !== undefined || own["const"] !== undefined;
    const branches = ["anyOf", "oneOf", "allOf"].some((name) => own[name] !== undefined);
    return {
      type: isScalar ? (types.length === 1 ? types[0] : "scalar") : undefined,
      bounds: isBounded ? { minimum, maximum } : {},
      isObject: isRequired && (type === "object" || type === "array"),
      can: (value) => {
        if (value === undefined) return !isRequired && initial === undefined;
        if (!isBounded && value !== null) return true;
        // Lengths and patterns are not the same in all libraries.
        if (typeof value === "string" && !isListed) return type === undefined || types.includes("string");
        return value === initial || matches(schema, value as JsonValue, { left: STEPS }) !== false;
      },
      member: (name) => {
        if (branches) return undefined;
        if (isJsonObject(properties) && Object.hasOwn(properties, name))
          return facts(properties[name]!, (required as string[]).includes(name));
        return /^\d+$/.test(name) && prefixItems === undefined && items !== undefined ? facts(items, false) : undefined;
      },
    };
  };
  return facts(whole, true);
}
