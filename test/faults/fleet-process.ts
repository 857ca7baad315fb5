import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";

// Many runtimes in one process, to load the control plane.
const [url = "", agentId = "", count = "0"] = process.argv.slice(2);
const key = process.env["PATCHBAY_RUNTIME_KEY"] ?? "";
const input = { type: "object", properties: { id: { type: "string" } } };
const charge = defineFunction({
  name: "charge",
  description: "Does it.",
  input,
  roles: everyone,
  handler: () => "done",
});
const service = defineService({ name: "fleet", functions: [charge] });
const links = Array.from({ length: Number(count) }, () => connect(service, { url, agentId, key, log: silentLog }));
await Promise.all(links.map(({ ready }) => ready));
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
