/** How owners write services. The wrong variants replace the line that contains only `WRONG`. */
export interface OwnerForm {
  name: string;
  /** `type` of the package.json; `none` is a package.json without it. */
  types: readonly ("module" | "commonjs" | "none")[];
  /** The first one is the service. A service is named after the value that its file computes, which is "ok". */
  files: Readonly<Record<string, string>>;
}

const FUNCTION = `
const one = defineFunction({
  name: "greet",
  description: "Greets a person by name.",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  roles: everyone,
  effect: "read",
  handler: ({ name }) => name,
});`;

const SERVICE = "defineService({ name: value, functions: [one] })";

const esm = (code: string, end = `export default ${SERVICE};`) =>
  `import { defineFunction, defineService, everyone } from "@patchbay/functions";\n${code}\nWRONG\n${FUNCTION}\n${end}\n`;
const commonJs = (code: string) =>
  `const { defineFunction, defineService, everyone } = require("@patchbay/functions");\n${code}\nWRONG\n${FUNCTION}\nmodule.exports = ${SERVICE};\n`;
const exportEquals = `import patchbay = require("@patchbay/functions");\nconst { defineFunction, defineService, everyone } = patchbay;\nconst value: string = "ok";\nWRONG\n${FUNCTION}\nexport = ${SERVICE};\n`;

const ALL = ["module", "commonjs", "none"] as const;
const NOT_MODULE = ["commonjs", "none"] as const;
const TYPED = 'const value: string = "ok";';
const PLAIN = 'const value = "ok";';
const LIB = 'export interface Shape { size: number }\nexport const value: string = "ok";\n';

const tsconfig = (compilerOptions: object, comment = "") =>
  `{ ${comment}\n"compilerOptions": ${JSON.stringify(compilerOptions)}, }`;

const form = (name: string, types: OwnerForm["types"], files: OwnerForm["files"]): OwnerForm => ({
  name,
  types,
  files,
});

/** A property decorator and a class that uses it, as TypeScript's own decorators and their metadata work. */
const METADATA = `
const kinds: Record<string, string> = {};
Object.assign(Reflect, { metadata: (key: string, kind: { name: string }) => () => { kinds[key] = kind.name; } });
function column(_target: object, _name: string) {}
class Row { @column title: string = ""; }
const value = new Row() && kinds["design:type"] === "String" ? "ok" : "wrong";`;

export const OWNER_FORMS: readonly OwnerForm[] = [
  form(".ts", ALL, { "service.ts": esm(TYPED) }),
  form(".mts", ALL, { "service.mts": esm(TYPED) }),
  form(".cts", ALL, { "service.cts": esm(TYPED) }),
  form(".js", ALL, { "service.js": esm(PLAIN) }),
  form(".mjs", ALL, { "service.mjs": esm(PLAIN) }),
  form(".js with require", NOT_MODULE, { "service.js": commonJs(PLAIN) }),
  form(".cjs", ALL, { "service.cjs": commonJs(PLAIN) }),
  form(".cts with require", ALL, { "service.cts": commonJs(TYPED) }),
  form("import without an ending", ALL, { "service.ts": esm('import { value } from "./lib";'), "lib.ts": LIB }),
  form("import of .js that is .ts", ALL, { "service.ts": esm('import { value } from "./lib.js";'), "lib.ts": LIB }),
  form("import of a type without `type`", ALL, {
    "service.ts": esm('import { Shape, value } from "./lib.js";\nconst shape: Shape = { size: 1 };\nvoid shape;'),
    "lib.ts": LIB,
  }),
  form("import of a folder", ALL, { "service.ts": esm('import { value } from "./lib";'), "lib/index.ts": LIB }),
  form("import in a circle", ALL, {
    "service.ts": esm('import { read } from "./a";\nconst value = read();'),
    "a.ts": 'import { again } from "./b";\nexport const text = "ok";\nexport const read = () => again();\n',
    "b.ts": 'import { text } from "./a";\nexport const again = () => text;\n',
  }),
  form("re-exports", ALL, {
    "service.ts": esm('import { again, all } from "./lib";\nconst value = again === all.value ? again : "wrong";'),
    "lib/index.ts": 'export * from "./one";\nexport * as all from "./one";\nexport { value as again } from "./one";\n',
    "lib/one.ts": LIB,
  }),
  form("dynamic import", ALL, {
    "service.mts": esm('const { value } = await import("./lib.ts");'),
    "lib.ts": 'export * from "./one.ts";\n',
    "one.ts": LIB,
  }),
  form("tsconfig paths", ALL, {
    "service.ts": esm('import { value } from "@lib/one";'),
    "src/lib/one.ts": LIB,
    "tsconfig.json": tsconfig({ paths: { "@lib/*": ["./src/lib/*"] } }, "// a comment"),
  }),
  form("tsconfig paths that are inherited", ALL, {
    "app/service.ts": esm('import { value } from "@lib/one";'),
    "src/lib/one.ts": LIB,
    "tsconfig.base.json": tsconfig({ paths: { "@lib/*": ["./src/lib/*"] } }),
    "app/tsconfig.json": '{ "extends": "../tsconfig.base.json" }',
  }),
  form("tsconfig baseUrl", ALL, {
    "service.ts": esm('import { value } from "lib/one";'),
    "src/lib/one.ts": LIB,
    "tsconfig.json": tsconfig({ baseUrl: "src" }),
  }),
  form("enum", ALL, {
    "service.ts": esm(
      'enum Word { Yes = "ok" }\nconst enum Count { One = 1 }\nconst value = Count.One === 1 ? Word.Yes : "wrong";',
    ),
  }),
  form("namespace", ALL, {
    "service.ts": esm('namespace Words { export const yes = "ok"; }\nconst value = Words.yes;'),
  }),
  form("parameter property", ALL, {
    "service.ts": esm('class Word {\n  constructor(readonly text: string) {}\n}\nconst value = new Word("ok").text;'),
  }),
  form("decorator with metadata", ALL, {
    "service.ts": esm(METADATA),
    "tsconfig.json": tsconfig({ experimentalDecorators: true, emitDecoratorMetadata: true }),
  }),
  form("field that only declares a type", ALL, {
    "service.ts": esm(
      'class Base { text = "ok"; }\nclass Word extends Base { text: string; }\nconst value = new Word().text;',
    ),
    "tsconfig.json": tsconfig({ useDefineForClassFields: false }),
  }),
  form("JSON", ALL, {
    "service.ts": esm('import data from "./data.json";\nconst { value } = data;'),
    "data.json": '{ "value": "ok" }',
  }),
  form("JSON with its type", ALL, {
    "service.ts": esm('import data from "./data.json" with { type: "json" };\nconst { value } = data;'),
    "data.json": '{ "value": "ok" }',
  }),
  form("import = require", ALL, {
    "service.ts": esm(
      'import path = require("node:path");\nimport lib = require("./lib");\nconst value = path.basename(lib.value);',
    ),
    "lib.ts": LIB,
  }),
  form("await at the top level", ALL, { "service.ts": esm('const value = await Promise.resolve("ok");') }),
  form("import of a file that awaits at the top level", ALL, {
    "service.ts": esm('import { value } from "./lib";'),
    "lib.ts": 'export const value = await Promise.resolve("ok");\n',
  }),
  form("export =", NOT_MODULE, { "service.ts": exportEquals }),
  form("export = in .cts", ALL, { "service.cts": exportEquals }),
  form("a named export", ALL, { "service.ts": esm(TYPED, `export const service = ${SERVICE};`) }),
  form("__dirname, __filename and require", NOT_MODULE, {
    "service.ts": esm('const value = __filename.startsWith(__dirname) && require("node:path").sep ? "ok" : "wrong";'),
  }),
  form("own __dirname", ALL, {
    "service.ts": esm(
      'import { dirname } from "node:path";\nimport { fileURLToPath } from "node:url";\nconst __dirname = dirname(fileURLToPath(import.meta.url));\nconst value = __dirname === import.meta.dirname ? "ok" : "wrong";',
    ),
  }),
  form("zod", ALL, { "service.ts": esm('import { z } from "zod";\nconst value = z.string().parse("ok");') }),
  form("a CommonJS dependency", NOT_MODULE, {
    "service.ts": esm(
      'import word, { hidden } from "old";\nimport * as all from "old";\nconst value = word + hidden + (all.hidden ? "" : "wrong");',
    ),
    "node_modules/old/package.json": '{ "name": "old", "main": "old.js" }',
    "node_modules/old/old.js":
      'exports.__esModule = true;\nfor (const [key, text] of [["default", "o"], ["hidden", "k"]]) exports[key] = text;\n',
  }),
];
