import { parseJson } from "@patchbay/kit";
import { MODEL_NAME } from "@patchbay/protocol";
import { ENDPOINT_NAME, PROVIDER_NAMES } from "@patchbay/protocol/providers";
import { z } from "zod";
import { PROFILES } from "./profiles.ts";
import { ModelPrice } from "./prices.ts";

const text = z.string().min(1).max(2_000);
const token = z.string().regex(/^[A-Za-z0-9-]{1,80}$/, "must be the name of a header");

const Profile = z.strictObject({
  strict: z.boolean().optional(),
  streamOptions: z.boolean().optional(),
  thoughts: z.boolean().optional(),
  maxTools: z.int().min(1).optional(),
});

const ProfileName = z.enum(Object.keys(PROFILES) as [keyof typeof PROFILES]);

const EndpointEntry = z
  .strictObject({
    name: z.string().regex(ENDPOINT_NAME, "must be 1 to 40 lower-case letters, digits and -, beginning with a letter"),
    provider: z.enum(PROVIDER_NAMES),
    wire: z.enum(["responses", "chat", "messages", "generateContent"]).optional(),
    baseUrl: z
      .url({ protocol: /^https?$/, error: "must be an http:// or https:// address" })
      .refine((url) => !URL.parse(url)?.username, "must not contain a password: name keyFile or keyEnv")
      .optional(),
    auth: z.enum(["bearer", "header", "aws", "google", "azure"]).optional(),
    /** The header that carries the key, with `auth: "header"`. */
    header: token.optional(),
    keyFile: text.optional(),
    keyEnv: text.optional(),
    headers: z.record(token, z.string()).optional(),
    apiVersion: text.optional(),
    region: text.optional(),
    project: text.optional(),
    organisations: z.array(text).min(1).optional(),
    /** The only models; the first one is the default. Prices apply to this endpoint only. */
    models: z.record(z.string().regex(MODEL_NAME), z.strictObject({ price: ModelPrice.optional() })).optional(),
    profile: z.union([ProfileName.transform((name) => PROFILES[name]), Profile]).optional(),
  })
  .superRefine(checkTogether);
type Entry = z.infer<typeof EndpointEntry>;

/** Members whose meaning depends on others. */
function checkTogether(
  { provider, auth, wire, ...entry }: z.input<typeof EndpointEntry>,
  context: z.RefinementCtx,
): void {
  const refuse = (path: string, message: string) => context.addIssue({ code: "custom", path: [path], message });
  const wires = { anthropic: ["messages"], openai: ["responses", "chat"], gemini: ["generateContent"] }[provider];
  if (wire && !wires.includes(wire)) refuse("wire", `must be ${wires.join(" or ")} for ${provider}`);
  if (auth === "aws" && provider !== "anthropic") refuse("auth", "aws is for provider anthropic");
  if (auth === "google" && provider === "openai") refuse("auth", "google is for providers anthropic and gemini");
  if (auth === "azure" && provider !== "openai") refuse("auth", "azure is for provider openai");
  if ((auth === "aws" || auth === "google") && !entry.region) refuse("region", `is required with auth ${auth}`);
  if (auth === "google" && !entry.project) refuse("project", "is required with auth google");
  if (auth === "azure" && !entry.baseUrl) refuse("baseUrl", "is required with auth azure");
  if (auth === "header" && !entry.header) refuse("header", "is required with auth header");
  if (auth !== "azure" && provider === "openai" && entry.apiVersion) refuse("apiVersion", "is for auth azure");
  if (entry.models && Object.keys(entry.models).length === 0) refuse("models", "must name a model, or be left out");
  if (entry.keyFile && entry.keyEnv) refuse("keyEnv", "excludes keyFile");
  if (auth === "google" && entry.keyEnv)
    refuse("keyEnv", "auth google reads keyFile, or the machine's own credentials");
  const keyless =
    auth === "aws" || auth === "google" || auth === "azure" || (provider === "openai" && entry.baseUrl && !auth);
  if (!keyless && !entry.keyFile && !entry.keyEnv) refuse("keyFile", "is required, or keyEnv");
}

const EndpointsFile = z.strictObject({ endpoints: z.array(EndpointEntry).min(1).max(100) }).superRefine(checkNames);

function checkNames({ endpoints }: { endpoints: Entry[] }, context: z.RefinementCtx): void {
  for (const [at, { name }] of endpoints.entries()) {
    const refuse = (message: string) => context.addIssue({ code: "custom", path: ["endpoints", at, "name"], message });
    if (endpoints.findIndex((one) => one.name === name) < at) refuse(`${name} is there twice`);
    const family = PROVIDER_NAMES.find((one) => one === name);
    if (family && endpoints.findIndex((one) => one.provider === family) !== at)
      refuse(`${name} is a provider's name, and this is not its first endpoint`);
  }
}

/** A model server under its own name, with its secret. */
export type Endpoint = Omit<Entry, "keyEnv"> & { key?: string | undefined };

/**
 * Checks the text of an endpoints file as a whole, and reads the secrets that it names. Throws an `Error` that names
 * every fault and no secret. `secret` reads a file or a variable, and throws without one.
 */
export function parseEndpoints(
  json: string,
  secret: (source: { file: string } | { variable: string }) => string,
): Endpoint[] {
  const file = parseJson(json);
  if (!file.ok) throw new Error(`it ${file.message}`);
  const parsed = EndpointsFile.safeParse(file.value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"} ${message}`);
    throw new Error(faults.join("; "));
  }
  return parsed.data.endpoints.map(({ keyEnv, ...entry }) => {
    if (entry.auth === "google") return entry;
    if (keyEnv !== undefined) return { ...entry, key: secret({ variable: keyEnv }) };
    return entry.keyFile === undefined ? entry : { ...entry, key: secret({ file: entry.keyFile }) };
  });
}
