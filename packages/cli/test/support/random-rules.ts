import type { Random } from "../../../access-lab/src/search/random.ts";

export interface Call {
  role: string | undefined;
  input: object;
  context: object;
}

/** A random rule over a few members, deep enough for tests, throws and texts to mix. */
export function randomRule({ below, pick }: Random): string {
  const one = (): string =>
    pick([
      'role === "boss"',
      "input.amount < 2",
      "input.amount <= 1",
      "input.amount > 1",
      "2 > input.amount",
      "input.other > 1",
      "input.other <= 1",
      "input.isUrgent",
      "input.isUrgent === true",
      'input.text === "a"',
      "input.text",
      "input.text === context.user",
      "context.user !== undefined",
      "context.user == null",
      "input.item",
      "input.item !== undefined",
      "input.item?.owner === context.user",
      "input.item.owner === context.user",
      "input.item.owner",
      "input.item?.tags.includes(input.text)",
      '["a", "b"].includes(input.text)',
      'input.item?.tags.some((tag) => tag === "a")',
      "input.item.tags.length > 1",
      "input.extra.a",
      "input.price + 1 > input.amount",
      '"no"',
      "undefined",
      "null",
      "true",
      "false",
      "input.extra > 1",
      "`${input.extra}`",
      "input.extra?.a.b",
    ])!;
  const some = (depth: number): string => {
    const part = () => some(depth - 1);
    if (depth === 0) return one();
    return [
      () => `(${part()} && ${part()})`,
      () => `(${part()} || ${part()})`,
      () => `(${part()} ?? ${part()})`,
      () => `!${part()}`,
      () => `(${part()} ? ${part()} : ${part()})`,
      () => `(${part()} === ${part()})`,
      () => one(),
    ][below(7)]!();
  };
  const statement = (): string =>
    pick([
      () => `if (${some(1)}) return ${some(1)};`,
      () => `const a${below(1e9)} = ${some(1)};`,
      () => `if (${some(1)}) throw new Error("no");`,
      () => "",
      () => `if (${some(1)}) { var v = ${some(1)}; if (v) return ${some(1)}; } if (v) return true;`,
      () =>
        `switch (${one()}) { case ${one()}: return ${some(1)}; case "a": { if (${one()}) break; return true; } default: if (${one()}) return ${one()}; }`,
      () =>
        `const f${below(1e9)} = (x) => x && ${one()}; const { text: t = ${one()} } = input; if (t) return ${one()};`,
      () =>
        `const g = (x, y = ${one()}) => { if (x) return y; throw new Error("x"); }; if (g(${some(1)})) return ${some(1)};`,
      () => `const h = (x) => ({ a: x, b: ${one()} }); if (h(${one()}).a) return h(${one()}).b; `,
      () => `const l = [${one()}, ${one()}]; if (l.includes(${one()})) return l.some((x) => x === ${one()}); `,
    ])!();
  return `({ role, input, context }) => { { ${statement()} } ${statement()} return ${some(2)}; }`;
}

/** Calls that reach each member of a random rule. */
export function* callsOf(): Iterable<Call> {
  for (const role of ["boss", undefined])
    for (const amount of [1, 2])
      for (const text of [undefined, "", "a"])
        for (const user of [undefined, "a"])
          for (const item of [undefined, { tags: ["a", "b"] }, { owner: "a", tags: [] }])
            for (const extra of [undefined, { a: { b: 1 } }, { toString: 1, valueOf: 1 }, 2])
              yield {
                role,
                input: {
                  amount,
                  price: amount - 1,
                  other: text === "" ? undefined : amount,
                  isUrgent: text === "a",
                  text,
                  item,
                  extra,
                },
                context: { user },
              };
}
