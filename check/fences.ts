import type { OxlintConfig } from "oxlint";

type Allowed = Readonly<Record<string, readonly string[]>>;

/** What each package imports of the others, types included. The linter refuses every other import. */
export const PACKAGES: Allowed = {
  kit: [],
  schema: ["kit"],
  protocol: ["kit", "schema"],
  access: ["kit", "schema", "protocol"],
  engine: ["kit", "schema", "protocol", "access"],
  database: ["kit", "engine"],
  store: ["kit", "protocol", "access", "engine", "database"],
  gateway: ["kit", "protocol", "access", "engine"],
  "offline-model": ["kit", "schema", "engine"],
  models: ["kit", "schema", "protocol", "engine", "offline-model"],
  server: ["kit", "schema", "protocol", "access", "engine", "models"],
  "console-api": ["kit", "protocol", "access", "engine", "store", "server"],
  "control-plane": ["kit", "database", "protocol", "engine", "store", "gateway", "models", "server", "console-api"],
  client: ["kit", "protocol"],
  create: [],
  runtime: ["kit", "schema", "protocol", "access"],
  "test-kit": ["kit", "protocol", "runtime", "control-plane"],
  escalation: ["kit", "schema", "protocol", "runtime", "test-kit", "control-plane"],
  conformance: ["kit", "protocol"],
  functions: ["runtime", "test-kit", "escalation", "conformance"],
  mcp: ["kit", "protocol", "functions"],
  openapi: ["kit", "schema", "functions"],
  loading: [],
  "access-lab": ["kit", "schema", "protocol", "access", "functions", "loading"],
  cli: ["kit", "protocol", "client", "create", "functions", "control-plane", "loading", "access-lab"],
  console: ["kit", "protocol", "client"],
  "test-support": ["kit", "protocol", "engine", "store", "gateway", "control-plane", "functions"],
};

/** Folders that do not import each other. */
const apart = (names: string): Allowed => Object.fromEntries(names.split(" ").map((name) => [name, []]));

/**
 * What each folder of a package's sources imports of the folders next to it, at any depth; `.` are the files next to the folders.
 * `console/pages` has the folders within `console/src/pages`; packages without folders are not listed. The linter refuses every other
 * import between them.
 */
export const FOLDERS: Readonly<Record<string, Allowed>> = {
  schema: { answer: ["."] },
  access: { flow: ["."] },
  protocol: {
    console: ["."],
    tracing: [],
  },
  engine: {
    ports: [],
    run: ["ports"],
    tracing: ["ports"],
  },
  store: {
    tables: ["."],
    migrations: [],
    dialect: [".", "accounts", "audit", "calls", "runs", "tables", "threads"],
    accounts: [".", "audit", "calls", "runs", "sweep", "tables"],
    audit: [".", "sweep", "tables"],
    calls: [".", "audit", "function-sets", "tables"],
    "function-sets": [".", "audit", "tables"],
    proof: [".", "audit", "runs", "tables"],
    runs: [".", "accounts", "audit", "calls", "sweep", "tables", "threads"],
    threads: [".", "runs", "tables"],
    sweep: [".", "accounts", "audit", "function-sets", "tables", "threads"],
  },
  gateway: {
    bus: [],
    calls: [".", "local", "peers"],
    handshake: [".", "local", "peers", "routing", "shadow"],
    local: [".", "calls", "peers"],
    peers: [".", "calls", "local"],
    routing: [".", "handshake", "local", "peers"],
    shadow: ["."],
  },
  server: {
    accounts: [],
    kernel: [],
    query: ["accounts", "kernel"],
    recording: ["accounts"],
    webhooks: [],
  },
  "console-api": {
    access: [".", "analytics", "functions"],
    account: ["."],
    agents: ["."],
    analytics: [".", "runs"],
    approvals: ["."],
    audit: [".", "runs"],
    credits: [".", "analytics"],
    functions: [".", "analytics"],
    live: ["."],
    members: [".", "account"],
    playground: [".", "runs"],
    runs: ["."],
    search: [".", "runs"],
    "service-tokens": ["."],
    threads: [".", "analytics", "runs"],
    webhooks: ["."],
  },
  "control-plane": { start: [] },
  runtime: {
    schema: [".", "redaction"],
    redaction: [".", "schema"],
    flow: [".", "redaction", "schema"],
    access: ["."],
    connection: [".", "access", "flow"],
  },
  escalation: { attacks: ["."] },
  "test-support": { providers: [] },
  functions: { access: [], testing: [] },
  "access-lab": {
    code: [],
    solve: ["code"],
    search: [".", "code", "solve"],
    evidence: [],
  },
  cli: {
    dev: ["."],
    doctor: [".", "commands"],
    commands: [".", "dev", "doctor"],
  },
  console: {
    format: [],
    state: ["format"],
    api: ["format", "state"],
    ui: ["api", "format", "state"],
    charts: ["format", "state", "ui"],
    shell: ["api", "format", "state", "ui"],
    parts: ["api", "charts", "format", "state", "ui"],
    pages: ["api", "charts", "format", "parts", "state", "ui"],
  },
  "console/ui": { form: ["."], table: [".", "form"], text: [".", "form"] },
  "console/parts": apart("access conversation figures model playground run runtime schema-form secret waterfall"),
  "console/pages": apart(
    "access account agents analytics approvals audit credits functions keys members organisation playground runs runtimes " +
      "sessions sign-in threads webhook",
  ),
};

/** Libraries that only these packages of the control plane import. */
export const LIBRARIES: Allowed = {
  hono: ["server", "console-api"],
  "@modelcontextprotocol/server": ["server"],
  "@hono/node-server": ["server"],
  ws: ["gateway"],
  kysely: ["database", "store", "console-api"],
  pg: ["database", "store"],
  "@nats-io/transport-node": ["gateway"],
  jose: ["server"],
  "@anthropic-ai/sdk": ["models"],
  "@anthropic-ai/bedrock-sdk": ["models"],
  "@azure/identity": ["models"],
  "@anthropic-ai/vertex-sdk": ["models"],
  "@google/genai": ["models"],
  "google-auth-library": ["models"],
  openai: ["models"],
  "@opentelemetry/api": ["engine"],
};

/** These packages read time and randomness from `kit/time`, so that a simulation can replace them. */
export const SIMULATED = ["engine", "gateway", "store", "database", "server", "runtime", "models", "control-plane"];

export const USE_KIT_TIME = "Use @patchbay/kit/time: a simulation replaces it.";

/** The packages of the control plane, which LIBRARIES covers. */
const CONTROL_PLANE = ["control-plane", ...Object.values(LIBRARIES).flat()];

/** Levels of folders below a folder of FOLDERS that the rules cover. */
const DEPTHS = [0, 1, 2];

type Restriction = { group?: string[]; regex?: string; importNames?: string[]; message?: string };

const withEntries = (names: readonly string[]) => names.flatMap((name) => [name, `${name}/*`]);

/** Node's own timers and identifiers, in the packages that read those from `kit/time`. */
function timeRule(own: string): Restriction[] {
  if (!SIMULATED.includes(own)) return [];
  return [
    { group: ["node:timers", "node:timers/promises"], message: USE_KIT_TIME },
    { group: ["node:crypto"], importNames: ["randomUUID", "randomBytes"], message: USE_KIT_TIME },
  ];
}

/** Packages that also run in a browser. */
const PLATFORM_NEUTRAL = ["console", "client", "protocol", "kit", "schema"];

function packageRule(own: string): Restriction {
  const allowed = [own, ...PACKAGES[own]!];
  const refused = Object.keys(PACKAGES).filter((name) => !allowed.includes(name));
  const platform = PLATFORM_NEUTRAL.includes(own) ? ["node:*"] : [];
  return {
    group: [...withEntries(refused.map((name) => `@patchbay/${name}`)), ...platform],
    message: "PACKAGES in check/fences.ts lists the packages that this one imports.",
  };
}

/** The folders next to `folder`, as a file `depth` folders below it writes them. `parent` is a key of `FOLDERS`. */
function folderRule(parent: string, folder: string, depth: number): Restriction {
  const allowed = FOLDERS[parent]![folder]!;
  const refused = Object.keys(FOLDERS[parent]!).filter((name) => name !== folder && !allowed.includes(name));
  const targets = [...refused.map((name) => `${name}/`), ...(allowed.includes(".") ? [] : [String.raw`[\w-]+\.tsx?$`])];
  return {
    regex: String.raw`^(?:\.\./){${depth + 1}}(?:${targets.join("|") || "$^"})`,
    message: "FOLDERS in check/fences.ts lists the folders that this one imports.",
  };
}

function libraryRule(own: string): Restriction[] {
  if (!CONTROL_PLANE.includes(own)) return [];
  const refused = Object.keys(LIBRARIES).filter((name) => !LIBRARIES[name]!.includes(own));
  return [{ group: withEntries(refused), message: "LIBRARIES in check/fences.ts lists the packages that import it." }];
}

/** The console's bundle holds types of these, never their schemas. */
const TYPES_ONLY = ["@patchbay/protocol", "@patchbay/protocol/console", "zod"].map((name) => ({
  name,
  allowTypeImports: true,
  message: "Import only its types: its schemas would be in the bundle.",
}));

const MUTATIONS = {
  name: "@tanstack/react-query",
  importNames: ["useMutation"],
  message: "A double click would send it twice: use useAction (packages/console/src/api/action.ts).",
};

/** The file of the protocol that runs on Node.js only. */
export const NODE_ONLY = "packages/protocol/src/arguments-hash.ts";

const restrict = (own: string, files: string, patterns: Restriction[]) => ({
  files: [files],
  rules: {
    "no-restricted-imports": ["error", { patterns, ...(own === "console" && { paths: [...TYPES_ONLY, MUTATIONS] }) }],
  },
});

/** The rules for the files `depth` folders below `folder`, also those of the folder that contains `parent`. */
function folderRules(parent: string, folder: string, depth: number): Restriction[] {
  const [own, within] = parent.split("/");
  return [folderRule(parent, folder, depth), ...(within === undefined ? [] : [folderRule(own!, within, depth + 1)])];
}

export const fences = [
  ...Object.keys(PACKAGES).map((own) =>
    restrict(own, `packages/${own}/src/*.{ts,tsx}`, [packageRule(own), ...libraryRule(own), ...timeRule(own)]),
  ),
  // Folders within folders come last: for a file that several overrides match, the last one counts.
  ...Object.keys(FOLDERS).flatMap((parent) =>
    Object.keys(FOLDERS[parent]!).flatMap((folder) =>
      DEPTHS.map((depth) => {
        const [own, ...within] = parent.split("/") as [string, ...string[]];
        const files = `packages/${[own, "src", ...within, folder].join("/")}/${"*/".repeat(depth)}*.{ts,tsx}`;
        return restrict(own, files, [
          packageRule(own),
          ...folderRules(parent, folder, depth),
          ...libraryRule(own),
          ...timeRule(own),
        ]);
      }),
    ),
  ),
  // Also generators and benchmarks: what is outside the packages imports what they export.
  restrict("", "{bench,check,docs,examples,release,test}/**/*.{ts,tsx}", [
    { regex: String.raw`^\..*/packages/[\w-]+/src/`, message: "Import what the package exports in its package.json." },
  ]),
  restrict("", "packages/*/test/**/*.{ts,tsx}", [
    { regex: String.raw`^(?:\.\./){3,}test/`, message: "What both need belongs to packages/test-support." },
  ]),
] as NonNullable<OxlintConfig["overrides"]>;
