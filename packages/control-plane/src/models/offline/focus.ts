import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { isDataKey } from "./facts.ts";
import { inline, isScalar, label } from "./markdown.ts";
import { conceptOf, nameWords, stem, type Word } from "./words.ts";

interface Found {
  name: string;
  value: JsonValue;
  exact: boolean;
  depth: number;
}

const MAX_FOUND = 6;
const MAX_NODES = 5000;

/** The members of a result that the words of the question name, as lines that answer it. */
export function focus(data: JsonValue, wanted: readonly Word[], counting: boolean): string[] {
  const stems = new Set(wanted.map(({ stem }) => stem));
  const concepts = new Set(wanted.map(({ concept }) => concept));
  const found: Found[] = [];
  let nodes = 0;
  const walk = (node: JsonValue, depth: number): void => {
    if (depth > 5 || nodes > MAX_NODES) return;
    if (Array.isArray(node)) for (const item of node) walk(item, depth + 1);
    if (!isJsonObject(node)) return;
    for (const [name, value] of Object.entries(node)) {
      nodes += 1;
      const words = nameWords(name)
        .map(stem)
        .filter((word) => word !== "id");
      const exact = words.some((word) => stems.has(word));
      if (words.length > 0 && (exact || words.some((word) => concepts.has(conceptOf(word)))))
        found.push({ name, value, exact, depth });
      walk(value, depth + 1);
    }
  };
  walk(data, 0);
  if (counting) return counts(data, found);
  const exact = found.filter((one) => one.exact);
  return lines(exact.length > 0 ? exact : found, false);
}

/** "How many": the sizes of the outermost lists that were named, the share of what is so or not so, or the size of the whole. */
function counts(data: JsonValue, found: readonly Found[]): string[] {
  const lists = found.filter(({ value }) => !isScalar(value));
  const least = Math.min(...lists.map(({ depth }) => depth));
  const named = found.filter(({ value, depth }) => typeof value === "boolean" || (!isScalar(value) && depth === least));
  if (named.length > 0) return lines(named, true);
  const whole = Array.isArray(data) ? data : isJsonObject(data) ? Object.keys(data).filter(isDataKey) : [];
  return whole.length > 0 ? [`**Count:** ${whole.length}`] : lines(found, true);
}

/** One line for each member name: its value, or all of its values where it stands in many records. */
function lines(found: readonly Found[], counting: boolean): string[] {
  const byName = Map.groupBy(
    found.toSorted((a, b) => a.depth - b.depth),
    ({ name }) => name,
  );
  return [...byName].slice(0, MAX_FOUND).map(
    ([name, group]) =>
      `**${label(name)}:** ${summary(
        group.map(({ value }) => value),
        counting,
      )}`,
  );
}

function summary(values: readonly JsonValue[], counting: boolean): string {
  const [first] = values;
  if (values.length === 1 && first !== undefined) {
    const size = isScalar(first) ? undefined : Array.isArray(first) ? first.length : Object.keys(Object(first)).length;
    return counting && size !== undefined ? String(size) : inline(first);
  }
  if (values.every((value) => typeof value === "boolean"))
    return `${values.filter(Boolean).length} of ${values.length}`;
  const distinct = [...new Set(values.map((value) => inline(value)))];
  return distinct.slice(0, 10).join(", ") + (distinct.length > 10 ? ` and ${distinct.length - 10} more` : "");
}
