import { defineConfig } from "oxlint";
import { fences, NODE_ONLY, SIMULATED, USE_KIT_TIME } from "./check/fences.ts";

const TIMER_GLOBALS = "setTimeout clearTimeout setInterval clearInterval setImmediate".split(" ");

const TIME_PROPERTIES = [
  { object: "Date", property: "now" },
  { object: "performance", property: "now" },
  { object: "Math", property: "random" },
  { object: "crypto", property: "randomUUID" },
  { object: "crypto", property: "getRandomValues" },
  { object: "AbortSignal", property: "timeout" },
].map((restricted) => ({ ...restricted, message: USE_KIT_TIME }));

const ENVIRONMENT = { object: "process", property: "env", message: "Only config.ts reads the environment." };

/** Tests, and what they share. */
const TESTS = ["test/**", "packages/*/test/**", "packages/test-support/src/**"];

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
    "no-restricted-properties": ["error", ENVIRONMENT],
  },
  overrides: [
    ...fences,
    {
      files: SIMULATED.map((own) => `packages/${own}/src/**`),
      rules: {
        "no-restricted-properties": ["error", ENVIRONMENT, ...TIME_PROPERTIES],
        "no-restricted-globals": ["error", ...TIMER_GLOBALS.map((name) => ({ name, message: USE_KIT_TIME }))],
      },
    },
    { files: [NODE_ONLY], rules: { "no-restricted-imports": "off" } },
    {
      files: [
        "packages/*/src/**/config.ts",
        "examples/*/config.ts",
        "packages/cli/src/main.ts",
        "packages/console/build.ts",
        ...TESTS,
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
      files: ["**/vite.config.ts", "**/vitest.config.ts", "examples/**", "packages/create/template/**", ...TESTS],
      rules: { "import/no-default-export": "off", "no-console": "off" },
    },
  ],
  ignorePatterns: ["**/dist/**"],
});
