import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Comment, parseSync } from "oxc-parser";

const root = join(import.meta.dirname, "../..");

/** A named thing of a source file, with the text of the comment above it. */
export interface Documented {
  name: string;
  /** Its type as written; for an element of a list, its value. */
  type: string;
  optional: boolean;
  description: string;
}

/** The members of an interface that a file declares, in order. */
export function membersOf(file: string, interfaceName: string): Documented[] {
  const { source, comments, body } = parse(file);
  const found = body.find((one) => one.type === "TSInterfaceDeclaration" && one.id.name === interfaceName);
  if (found?.type !== "TSInterfaceDeclaration") throw new Error(`${file} has no interface ${interfaceName}`);
  return found.body.body.map((member) => {
    if (!("key" in member) || member.key.type !== "Identifier")
      throw new Error(`${file}: ${interfaceName} has a member without a name`);
    const text = source.slice(member.start, member.end).replace(/;$/, "");
    const signature = member.type === "TSMethodSignature" ? text : text.slice(text.indexOf(":") + 1);
    return {
      name: member.key.name,
      type: signature.replaceAll(/\s+/g, " ").trim(),
      optional: "optional" in member && member.optional,
      description: commentAbove(member.start, source, comments),
    };
  });
}

/** The elements of an exported list, or the properties of an exported object, that a file declares with `const`. */
export function entriesOf(file: string, constName: string): Documented[] {
  const { source, comments, body } = parse(file);
  const declarations = body.flatMap((one) =>
    one.type === "ExportNamedDeclaration" && one.declaration?.type === "VariableDeclaration"
      ? one.declaration.declarations
      : [],
  );
  let value = declarations.find(({ id }) => id.type === "Identifier" && id.name === constName)?.init;
  if (value?.type === "TSAsExpression") value = value.expression;
  const entry = (name: string, type: string, start: number): Documented => {
    return { name, type, optional: false, description: commentAbove(start, source, comments) };
  };
  if (value?.type === "ArrayExpression")
    return value.elements.flatMap((one) =>
      one?.type === "Literal" ? [entry(String(one.value), String(one.value), one.start)] : [],
    );
  if (value?.type === "ObjectExpression")
    return value.properties.flatMap((one) =>
      one.type === "Property" && one.key.type === "Identifier"
        ? [entry(one.key.name, source.slice(one.value.start, one.value.end), one.start)]
        : [],
    );
  throw new Error(`${file} has no list or object ${constName}`);
}

function parse(file: string) {
  const source = readFileSync(join(root, file), "utf8");
  const { program, comments } = parseSync(file, source);
  const body = program.body.map((one) =>
    one.type === "ExportNamedDeclaration" && one.declaration?.type === "TSInterfaceDeclaration" ? one.declaration : one,
  );
  return { source, comments, body };
}

/** The text of the doc comment that ends where `start` begins, as Markdown of one paragraph. */
function commentAbove(start: number, source: string, comments: Comment[]): string {
  const above = comments.findLast(({ type, value, end }) => type === "Block" && value.startsWith("*") && end <= start);
  if (above === undefined || source.slice(above.end, start).trim() !== "") return "";
  return above.value
    .slice(1)
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\{@link ([^}]+)\}/g, "`$1`")
    .replaceAll(/\s+/g, " ")
    .trim();
}
