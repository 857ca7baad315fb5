import { fileURLToPath } from "node:url";

const functionsPackage = fileURLToPath(new URL("../../../functions/src/index.ts", import.meta.url));

/** Source of a module with one function for everyone, for any folder. */
export function serviceSource({
  name = "greet",
  handler = "({ name }) => `Hello, ${name}!`",
  before = "",
  roles = "everyone",
} = {}): string {
  return `
import { defineFunction, defineService, everyone } from ${JSON.stringify(functionsPackage)};
${before}
const one = defineFunction({
  name: ${JSON.stringify(name)},
  description: "Greets a person by name.",
  input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  roles: ${roles},
  effect: "read",
  handler: ${handler},
});
export default defineService({ name: "greeter", functions: [one] });
`;
}
