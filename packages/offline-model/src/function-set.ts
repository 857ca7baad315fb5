import { type JsonObject, oncePer } from "@patchbay/kit";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";
import { type Parameter, readParameters } from "./parameters.ts";
import { conceptOfWord, conceptsOf, isStopWord, isVerb, nameWords, readable, stem, wordsOf } from "./words.ts";

/** A function with its words and parameters. */
export interface KnownFunction {
  name: string;
  /** The first sentence of the description, or the name in words. */
  title: string;
  readOnly: boolean;
  /** Concepts in its name: what it does, what it is about, and what it goes by (`by_email`). */
  actions: ReadonlySet<string>;
  objects: ReadonlySet<string>;
  inputs: ReadonlySet<string>;
  /** Stems in its name: an exact word counts more than a synonym. */
  stems: ReadonlySet<string>;
  /** Concepts in its description. */
  described: ReadonlySet<string>;
  schema: JsonObject;
  parameters: readonly Parameter[];
}

export interface FunctionSet {
  functions: readonly KnownFunction[];
  /** What parameters in any function identify or describe: words that label a value in a query. */
  entities: ReadonlySet<string>;
  /** True for a word that is not a name here, even with a capital letter. */
  common(word: string): boolean;
  sizeChars: number;
}

export const readFunctions = oncePer((functions: readonly ModelFunction[]): FunctionSet => {
  const members = functions.map(readFunction);
  const entities = new Set(members.flatMap(({ parameters }) => parameters.flatMap(({ entity }) => entity)));
  const words = new Set(members.flatMap(({ actions, objects, inputs }) => [...actions, ...objects, ...inputs]));
  return {
    functions: members,
    entities,
    common(word) {
      const concept = conceptOfWord(word);
      return isStopWord(word) || isVerb(concept) || entities.has(concept) || words.has(concept);
    },
    sizeChars: JSON.stringify(functions).length,
  };
});

const readFunction = oncePer(({ name, description, inputSchema: schema, effect }: ModelFunction): KnownFunction => {
  const parameters = readParameters(schema);
  const words = nameWords(name).map((word) => word.toLowerCase());
  const turn = words.findIndex((word, at) => at > 0 && /^(?:by|with|using|via|from)$/u.test(word));
  const concepts = words.map(conceptOfWord);
  const about = turn < 0 ? concepts : concepts.slice(0, turn);
  const verbs = [concepts[0] ?? "", turn < 0 ? (concepts.at(-1) ?? "") : ""].filter(isVerb);
  const opening = [wordsOf(description)[0]?.concept ?? ""].filter(isVerb);
  const sentence = /^[\s\S]*?[.!?](?=\s|$)/u.exec(description.trim())?.[0] ?? description.trim();
  return {
    name,
    title: sentence.replaceAll("\n", " ").slice(0, 200) || readable(name),
    readOnly: effect === "read",
    actions: new Set([...(verbs.length > 0 ? verbs : concepts.slice(0, 1)), ...opening]),
    objects: new Set(about.filter((concept) => !verbs.includes(concept) && !isStopWord(concept))),
    inputs: new Set(turn < 0 ? [] : concepts.slice(turn + 1)),
    stems: new Set(words.map(stem)),
    described: new Set(conceptsOf(description)),
    schema,
    parameters,
  };
});
