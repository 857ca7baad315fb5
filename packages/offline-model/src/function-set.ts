import { oncePer } from "@patchbay/protocol";
import type { ModelFunction } from "./model.ts";
import { type Parameter, parameterConcepts, readParameters } from "./parameters.ts";
import { conceptOf, conceptsOf, isDoing, isLooking, isStopWord, nameWords, readable, stem, wordsOf } from "./words.ts";

/** A function with its words taken apart. */
export interface KnownFunction {
  name: string;
  /** First sentence of the description, or the name in words. */
  title: string;
  readOnly: boolean;
  /** Concepts of what it does, of what it is about, and of what its name says it goes by (`by_email`). */
  actions: ReadonlySet<string>;
  objects: ReadonlySet<string>;
  inputs: ReadonlySet<string>;
  /** Stems of all words of the name: an exact word counts more than a synonym. */
  stems: ReadonlySet<string>;
  described: ReadonlySet<string>;
  hinted: ReadonlySet<string>;
  parameters: readonly Parameter[];
}

export interface FunctionSet {
  functions: readonly KnownFunction[];
  /** 1 for a word of a single function, near 0 for a word of all functions. */
  rarity(concept: string): number;
  /** What parameters of any function are about: words that label a value in a query. */
  entities: ReadonlySet<string>;
  /** True for a word that names no person or place here, though written with a capital. */
  common(word: string): boolean;
  sizeChars: number;
}

/** The functions of a request with their words. */
export const readFunctions = oncePer((functions: readonly ModelFunction[]): FunctionSet => {
  const members = functions.map(readFunction);
  const counts = new Map<string, number>();
  for (const fn of members) {
    const all = new Set([...fn.actions, ...fn.objects, ...fn.inputs, ...fn.described]);
    for (const concept of all) counts.set(concept, (counts.get(concept) ?? 0) + 1);
  }
  const scale = Math.log(1 + members.length);
  const entities = new Set(members.flatMap((fn) => fn.parameters.flatMap((parameter) => parameter.entity)));
  const words = new Set(members.flatMap((fn) => [...fn.actions, ...fn.objects, ...fn.inputs]));
  return {
    functions: members,
    entities,
    rarity: (concept) => Math.log(1 + members.length / (counts.get(concept) ?? 1)) / scale,
    common(word) {
      const concept = conceptOf(stem(word));
      return isStopWord(word) || isLooking(concept) || isDoing(concept) || entities.has(concept) || words.has(concept);
    },
    sizeChars: JSON.stringify(functions).length,
  };
});

const readFunction = oncePer((fn: ModelFunction): KnownFunction => {
  const parameters = readParameters(fn.inputSchema);
  const name = nameWords(fn.name).map((word) => word.toLowerCase());
  const turn = name.findIndex((word, at) => at > 0 && /^(?:by|with|using|via|from)$/u.test(word));
  const concepts = name.map((word) => conceptOf(stem(word)));
  const isVerb = (concept: string) => isLooking(concept) || isDoing(concept);
  const verbs = [concepts[0], turn < 0 ? concepts.at(-1) : undefined].filter((one) => one !== undefined && isVerb(one));
  const opening = wordsOf(fn.description)[0]?.concept ?? "";
  const actions = new Set(verbs.length > 0 ? verbs.filter((one) => one !== undefined) : concepts.slice(0, 1));
  if (isVerb(opening)) actions.add(opening);
  const about = turn < 0 ? concepts : concepts.slice(0, turn);
  const sentence = /^[\s\S]*?[.!?](?=\s|$)/u.exec(fn.description.trim())?.[0] ?? fn.description.trim();
  return {
    name: fn.name,
    title: sentence.replaceAll("\n", " ").slice(0, 200) || readable(fn.name),
    readOnly: fn.effect === "read",
    actions,
    objects: new Set(about.filter((one) => !verbs.includes(one) && !isStopWord(one))),
    inputs: new Set(turn < 0 ? [] : concepts.slice(turn + 1)),
    stems: new Set(name.map(stem)),
    described: new Set(conceptsOf(fn.description)),
    hinted: new Set(parameters.flatMap(parameterConcepts)),
    parameters,
  };
});
