/** A way in which `authorize` of `service.js` reaches code without naming it directly, and an edit of that code. */
export interface Hole {
  name: string;
  files: Record<string, string>;
  edit: [file: string, from: string, to: string];
}

const hole = (name: string, service: string, edit: Hole["edit"], more: Record<string, string> = {}): Hole => ({
  name,
  files: { "service.js": service, ...more },
  edit,
});

const LIMITS = "export const LIMIT = 50;";
const RAISED: Hole["edit"] = ["limits.js", "50", "5000"];
const ROLES = 'export const ROLES = ["boss"];\n';

const IMPORTS: Hole[] = [
  hole(
    "a namespace that is exported again",
    'import { limits } from "./all.js";\nexport const authorize = ({ input }) => input.amount <= limits.LIMIT;',
    RAISED,
    { "all.js": 'export * as limits from "./limits.js";', "limits.js": LIMITS },
  ),
  hole(
    "a namespace of a file that exports another one again",
    'import * as all from "./all.js";\nexport const authorize = ({ input }) => input.amount <= all.LIMIT;',
    RAISED,
    { "all.js": 'export * from "./limits.js";', "limits.js": LIMITS },
  ),
  hole(
    "a namespace of a file that imports what it exports",
    'import * as all from "./all.js";\nexport const authorize = ({ input }) => all.isSmall(input.amount);',
    RAISED,
    {
      "all.js": 'import { LIMIT } from "./limits.js";\nexport const isSmall = (amount) => amount <= LIMIT;',
      "limits.js": LIMITS,
    },
  ),
  hole(
    "an imported name that is exported again",
    'import { MOST } from "./all.js";\nexport const authorize = ({ input }) => input.amount <= MOST;',
    RAISED,
    { "all.js": 'import { LIMIT } from "./limits.js";\nexport { LIMIT as MOST };', "limits.js": LIMITS },
  ),
  hole(
    "an import of the package's own names",
    'import { LIMIT } from "#limits";\nexport const authorize = ({ input }) => input.amount <= LIMIT;',
    RAISED,
    { "package.json": '{ "type": "module", "imports": { "#limits": "./limits.js" } }', "limits.js": LIMITS },
  ),
  hole(
    "a linked package of the workspace",
    'import { LIMIT } from "desk/limits";\nexport const authorize = ({ input }) => input.amount <= LIMIT;',
    RAISED,
    {
      "package.json": '{ "name": "desk", "type": "module", "exports": { "./limits": "./limits.js" } }',
      "limits.js": LIMITS,
    },
  ),
  hole(
    "an import within the function",
    'import "./limits.js";\nexport const authorize = async ({ input }) => input.amount <= (await import("./limits.js")).LIMIT;',
    RAISED,
    { "limits.js": LIMITS },
  ),
  hole(
    "an import of a computed file",
    'const name = "limits";\nconst { LIMIT } = await import(`./${name}.js`);\nexport const authorize = ({ input }) => input.amount <= LIMIT;',
    RAISED,
    { "limits.js": LIMITS },
  ),
  hole(
    "a required file",
    'import { createRequire } from "node:module";\nimport { isSmall } from "./small.cjs";\nexport const authorize = ({ input }) => isSmall(input.amount);',
    ["limits.cjs", "50", "5000"],
    {
      "small.cjs": 'const { LIMIT } = require("./limits.cjs");\nexports.isSmall = (amount) => amount <= LIMIT;',
      "limits.cjs": "exports.LIMIT = 50;",
    },
  ),
  hole(
    "a file of data",
    'import limits from "./limits.json" with { type: "json" };\nexport const authorize = ({ input }) => input.amount <= limits.most;',
    ["limits.json", "50", "5000"],
    { "limits.json": '{ "most": 50 }' },
  ),
];

const FACTORY = "export const createRule = (most) => ({ input }) => input.amount <= most;";

const FACTORIES: Hole[] = [
  hole(
    "a factory under another name",
    'import { createRule as make } from "./rule.js";\nexport const authorize = make(50);',
    ["service.js", "50", "5000"],
    { "rule.js": FACTORY },
  ),
  hole(
    "a factory that its file exports under another name",
    'import { make } from "./rule.js";\nexport const authorize = make(50);',
    ["service.js", "50", "5000"],
    { "rule.js": `${FACTORY.replace("export ", "")}\nexport { createRule as make };` },
  ),
  hole(
    "a factory of a namespace",
    'import * as rules from "./rule.js";\nexport const authorize = rules.createRule(50);',
    ["service.js", "50", "5000"],
    { "rule.js": FACTORY },
  ),
  hole(
    "an alias of a factory",
    'import { createRule } from "./rule.js";\nconst make = createRule;\nexport const authorize = make(50);',
    ["service.js", "50", "5000"],
    { "rule.js": FACTORY },
  ),
  hole(
    "a factory that is passed as a value",
    'import { createRule } from "./rule.js";\nconst [first] = [50].map(createRule);\nexport const authorize = first;',
    ["service.js", "50", "5000"],
    { "rule.js": FACTORY },
  ),
  hole(
    "a method that returns the function",
    "const rules = { upTo(most) { return ({ input }) => input.amount <= most; } };\nexport const authorize = rules.upTo(50);",
    ["service.js", "upTo(50)", "upTo(5000)"],
  ),
  hole("an unnamed factory", "export const authorize = ((most) => ({ input }) => input.amount <= most)(50);", [
    "service.js",
    "(50)",
    "(5000)",
  ]),
  hole(
    "the constructor of a class",
    "class Rule { constructor(most) { this.allows = ({ input }) => input.amount <= most; } }\nexport const authorize = new Rule(50).allows;",
    ["service.js", "Rule(50)", "Rule(5000)"],
  ),
  hole(
    "a field of a class instance",
    "class Rule { most; constructor(most) { this.most = most; } allows = ({ input }) => input.amount <= this.most; }\nexport const authorize = new Rule(50).allows;",
    ["service.js", "Rule(50)", "Rule(5000)"],
  ),
  hole(
    "a bound method",
    "class Rule { constructor(most) { this.most = most; } allows({ input }) { return input.amount <= this.most; } }\nconst rule = new Rule(50);\nexport const authorize = rule.allows.bind(rule);",
    ["service.js", "Rule(50)", "Rule(5000)"],
  ),
  hole(
    "a loop around the function",
    "const rules = [];\nfor (const most of [50]) rules.push(({ input }) => input.amount <= most);\nexport const [authorize] = rules;",
    ["service.js", "[50]", "[5000]"],
  ),
];

const READS = 'import { ROLES } from "./roles.js";\nexport const authorize = ({ role }) => ROLES.includes(role);\n';

const CHANGES: Hole[] = [
  hole(
    "a list that a loop extends",
    `${ROLES}for (const role of ["lead"]) ROLES.push(role);\nexport const authorize = ({ role }) => ROLES.includes(role);`,
    ["service.js", '"lead"', '"lead", "staff"'],
  ),
  hole(
    "a list that a condition extends",
    `${ROLES}if (ROLES.length > 0) { ROLES.push("lead"); }\nexport const authorize = ({ role }) => ROLES.includes(role);`,
    ["service.js", '"lead"', '"staff"'],
  ),
  hole("a list that another file extends", `import "./more.js";\n${READS}`, ["more.js", '"lead"', '"staff"'], {
    "roles.js": ROLES,
    "more.js": 'import { ROLES as all } from "./roles.js";\nall.push("lead");',
  }),
  hole(
    "a list that a function extends",
    `import { extend } from "./more.js";\n${READS}extend("lead");`,
    ["service.js", '"lead"', '"staff"'],
    {
      "roles.js": ROLES,
      "more.js": 'import * as roles from "./roles.js";\nexport function extend(role) { roles.ROLES.push(role); }',
    },
  ),
  hole(
    "a list that a function receives",
    `${ROLES}const extend = (list) => list.push("lead");\nconst count = extend(ROLES);\nexport const authorize = ({ role }) => ROLES.includes(role) && count > 0;`,
    ["service.js", '"lead"', '"staff"'],
  ),
  hole(
    "an alias that is extended",
    `${ROLES}const all = ROLES;\nall.push("lead");\nexport const authorize = ({ role }) => ROLES.includes(role);`,
    ["service.js", '"lead"', '"staff"'],
  ),
  hole(
    "an object that gets a member",
    "const limits = {};\nexport const authorize = ({ input }) => input.amount <= limits.most;\nfunction init() { limits.most = 50; }\ninit();",
    ["service.js", "50", "5000"],
  ),
  hole(
    "a global variable",
    'import "./limits.js";\nexport const authorize = ({ input }) => input.amount <= LIMIT;',
    ["limits.js", "50", "5000"],
    { "limits.js": "globalThis.LIMIT = 50;" },
  ),
];

export const HOLES: readonly Hole[] = [...IMPORTS, ...FACTORIES, ...CHANGES];
