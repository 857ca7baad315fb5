import { isJsonObject, type JsonValue } from "@patchbay/kit";
import type { Call } from "./judge.ts";

/** Most calls that are tried to shorten one. */
const MOST = 300;

/** A simpler call that is still `isSame`. The given one if none is found. */
export async function shrink(call: Call, isSame: (call: Call) => Promise<boolean>): Promise<Call> {
  let best = call;
  let tried = 0;
  for (let improved = true; improved;) {
    improved = false;
    // What made the call simpler is tried again on the same part before the next one.
    for (let i = 0; ;) {
      const value = [...simpler({ context: best.context, input: best.input })][i];
      if (value === undefined) break;
      const { input, context } = value as unknown as Call;
      if (++tried > MOST) return best;
      if (input === undefined || !isJsonObject(context) || !(await isSame({ input, context }))) i++;
      else {
        best = { input, context };
        improved = true;
      }
    }
  }
  return best;
}

/** The same value with one part removed or simpler. */
function* simpler(value: JsonValue): Iterable<JsonValue> {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) {
      yield value.toSpliced(i, 1);
      for (const made of simpler(item)) yield value.with(i, made);
    }
  } else if (isJsonObject(value)) {
    for (const [name, part] of Object.entries(value)) {
      const { [name]: _, ...rest } = value;
      yield rest;
      for (const made of simpler(part)) yield { ...value, [name]: made };
    }
  } else if (typeof value === "number") {
    for (const made of [0, 1, Math.trunc(value), Math.trunc(value / 2), value - Math.sign(value)])
      if (Math.abs(made) < Math.abs(value) || String(made).length < String(value).length) yield made;
  } else if (typeof value === "string") {
    // An empty text hardly reads as a value.
    for (const made of ["a", value.slice(0, value.length >> 1)])
      if (made.length > 0 && made.length < value.length) yield made;
  } else if (value === true) yield false;
}
