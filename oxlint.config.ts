import { defineConfig, type OxlintConfig } from "oxlint";

type Allowed = Readonly<Record<string, readonly string[]>>;

/** What each package imports of the others, types included. The linter refuses every other import. */
export const PACKAGES: Allowed = {
  protocol: [],
  client: ["protocol"],
  create: [],
  "offline-model": ["protocol"],
  functions: ["protocol"],
  mcp: ["protocol", "functions"],
  "control-plane": ["protocol", "offline-model"],
  cli: ["protocol", "client", "create", "functions", "control-plane"],
  console: ["protocol", "client"],
};

/**
 * What each folder of a package's sources imports of the folders next to it, at any depth; `.` are the files next to the folders.
 * The linter refuses every other import between them.
 */
export const FOLDERS: Readonly<Record<string, Allowed>> = {
  protocol: {
    console: ["."],
    "response-schema": ["."],
    tracing: [],
  },
  client: {},
  create: {},
  "offline-model": {},
  functions: {
    schema: [".", "redaction"],
    redaction: [".", "schema"],
    access: ["."],
    runtime: [".", "access"],
    testing: [".", "schema", "redaction", "runtime"],
  },
  mcp: {},
  "control-plane": {
    ports: [],
    bus: ["ports"],
    models: ["ports"],
    store: ["ports"],
    accounts: ["ports", "models"],
    gateway: ["ports", "accounts"],
    run: ["ports"],
    tracing: ["ports"],
    webhooks: ["ports"],
    recording: ["ports", "accounts", "models", "run"],
    http: ["ports", "accounts", "models", "run"],
    console: ["ports", "accounts", "run", "recording", "http", "store"],
    start: ["ports", "bus", "models", "store", "accounts", "gateway", "run", "tracing", "webhooks", "http", "console"],
  },
  cli: {
    loading: ["."],
    code: [".", "loading"],
    dev: ["."],
    doctor: [".", "commands"],
    search: [".", "code", "loading"],
    evidence: [".", "search"],
    commands: [".", "code", "dev", "doctor", "search", "evidence"],
  },
  console: {
    format: [],
    api: ["format", "state"],
    state: [],
    ui: ["api", "format", "state"],
    charts: ["format", "state", "ui"],
    "schema-form": ["format", "ui"],
    shell: ["api", "format", "state", "ui"],
    waterfall: ["format", "state", "ui"],
    pages: ["api", "charts", "format", "schema-form", "state", "ui", "waterfall"],
  },
};

/** Libraries that only these folders of the control plane import. */
export const LIBRARIES: Allowed = {
  hono: ["http", "console"],
  "@modelcontextprotocol/server": ["http"],
  "@hono/node-server": ["http"],
  ws: ["gateway"],
  kysely: ["store", "console"],
  pg: ["store"],
  "@nats-io/transport-node": ["bus"],
  jose: ["accounts"],
  "@anthropic-ai/sdk": ["models"],
  "@google/generative-ai": ["models"],
  "@opentelemetry/api": ["tracing"],
};

/** Levels of folders below a folder of FOLDERS that the rules cover. */
const DEPTHS = [0, 1, 2];

type Restriction = { group?: string[]; regex?: string; message?: string };

const withEntries = (names: readonly string[]) => names.flatMap((name) => [name, `${name}/*`]);

function packageRule(own: string, folder?: string): Restriction {
  // The test kit runs the control plane in the test's process.
  const allowed = [own, ...PACKAGES[own]!, ...(own === "functions" && folder === "testing" ? ["control-plane"] : [])];
  const refused = Object.keys(PACKAGES).filter((name) => !allowed.includes(name));
  const platform = own === "console" || own === "client" || own === "protocol" ? ["node:*"] : [];
  return {
    group: [...withEntries(refused.map((name) => `@patchbay/${name}`)), ...platform],
    message: "PACKAGES in oxlint.config.ts lists the packages that this one imports.",
  };
}

/** The folders next to `folder`, as a file `depth` folders below it writes them. */
function folderRule(own: string, folder: string, depth: number): Restriction {
  const allowed = FOLDERS[own]![folder]!;
  const refused = Object.keys(FOLDERS[own]!).filter((name) => name !== folder && !allowed.includes(name));
  const targets = [...refused.map((name) => `${name}/`), ...(allowed.includes(".") ? [] : [String.raw`[\w-]+\.tsx?$`])];
  return {
    regex: String.raw`^(?:\.\./){${depth + 1}}(?:${targets.join("|") || "$^"})`,
    message: "FOLDERS in oxlint.config.ts lists the folders that this one imports.",
  };
}

function libraryRule(folder: string): Restriction[] {
  const refused = Object.keys(LIBRARIES).filter((name) => !LIBRARIES[name]!.includes(folder));
  return [{ group: withEntries(refused), message: "LIBRARIES in oxlint.config.ts lists the folders that import it." }];
}

/** The console's bundle holds types of these, never their schemas. */
const TYPES_ONLY = ["@patchbay/protocol", "@patchbay/protocol/console", "zod"].map((name) => ({
  name,
  allowTypeImports: true,
  message: "Import only its types: its schemas would be in the bundle.",
}));

const restrict = (own: string, files: string, patterns: Restriction[]) => ({
  files: [files],
  rules: {
    "no-restricted-imports": ["error", { patterns, ...(own === "console" && { paths: TYPES_ONLY }) }],
  },
});

const fences = Object.keys(PACKAGES).flatMap((own) => [
  restrict(own, `packages/${own}/src/*.{ts,tsx}`, [packageRule(own)]),
  ...Object.keys(FOLDERS[own]!).flatMap((folder) =>
    DEPTHS.map((depth) =>
      restrict(own, `packages/${own}/src/${folder}/${"*/".repeat(depth)}*.{ts,tsx}`, [
        packageRule(own, folder),
        folderRule(own, folder, depth),
        ...(own === "control-plane" ? libraryRule(folder) : []),
      ]),
    ),
  ),
]) as NonNullable<OxlintConfig["overrides"]>;

// oxlint-disable-next-line import/no-default-export -- the form of a configuration file
export default defineConfig({
  plugins: ["typescript", "import", "unicorn", "oxc"],
  categories: { correctness: "error", suspicious: "error" },
  rules: {
    "import/no-cycle": ["error", { ignoreTypes: false }],
    "import/no-default-export": "error",
    "import/no-unassigned-import": "off",
    "max-lines": ["error", { max: 300 }],
    "typescript/no-floating-promises": "error",
    "typescript/no-misused-promises": ["error", { checksVoidReturn: false }],
    "typescript/no-explicit-any": "error",
    "typescript/no-unsafe-type-assertion": "off",
    "typescript/consistent-return": "off",
    "typescript/require-await": "off",
    "typescript/unbound-method": "off",
    "unicorn/no-array-sort": "off",
    "unicorn/no-array-reverse": "off",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/require-module-specifiers": "off",
    "no-await-in-loop": "off",
    "no-shadow": "off",
    "no-underscore-dangle": "off",
    "no-console": "error",
    "no-restricted-properties": [
      "error",
      { object: "process", property: "env", message: "Only config.ts reads the environment." },
    ],
  },
  overrides: [
    ...fences,
    {
      files: [
        "packages/*/src/**/config.ts",
        "examples/*/config.ts",
        "packages/cli/src/main.ts",
        "packages/console/build.ts",
        "test/**",
        "packages/*/test/**",
        "examples/*/test/**",
        "bench/**",
      ],
      rules: { "no-restricted-properties": "off" },
    },
    {
      files: ["packages/*/src/**"],
      rules: { "max-lines-per-function": ["error", { max: 80, skipBlankLines: true, skipComments: true }] },
    },
    { files: ["packages/console/src/**"], plugins: ["typescript", "import", "unicorn", "oxc", "react"] },
    {
      files: [
        "**/vite.config.ts",
        "**/vitest.config.ts",
        "examples/**",
        "packages/create/template/**",
        "test/**",
        "packages/*/test/**",
      ],
      rules: { "import/no-default-export": "off", "no-console": "off" },
    },
  ],
  ignorePatterns: ["**/dist/**"],
});
