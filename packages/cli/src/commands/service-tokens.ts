import type { Admin } from "@patchbay/control-plane";
import { present } from "@patchbay/protocol";
import { SERVICE_SCOPES, type ServiceScope } from "@patchbay/protocol/console";
import { type Command, InvalidArgumentError } from "commander";
import { examples, option, overlapOption, parseList, parseWithin } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, type AdminOptions, SHOWN_ONCE } from "./administer.ts";

interface TokenOptions extends AdminOptions {
  org?: string;
}

interface CreateOptions extends TokenOptions {
  scopes: ServiceScope[];
  label?: string;
  expiresInDays?: number;
}

type Token = Awaited<ReturnType<Admin["serviceTokens"]["get"]>>;

/** Most tokens that `list` reads. */
const LISTED = 1_000;

const tokenOrgOption = () => option("--org <id>", "the organisation (default: the only one)");

/** `service-tokens`: tokens with which programs manage an organisation over HTTP. */
export function addServiceTokenCommands(program: Command): void {
  const tokens = program
    .command("service-tokens")
    .description("manage service tokens, with which programs manage an organisation over HTTP");
  addCreate(tokens);
  adminCommand(tokens, "list", "list those of an organisation, without their secrets")
    .addOption(tokenOrgOption())
    .action((options: TokenOptions) =>
      administer(
        options,
        async (admin) => {
          const page = await admin.serviceTokens.list(await admin.orgFor(options.org), { limit: LISTED });
          return { items: page.items.map(listed) };
        },
        ({ items }) =>
          table(
            ["id", "hint", "label", "scopes", "last used", "state"],
            items.map((one) => [
              one.tokenId,
              one.hint,
              one.label ?? "",
              one.scopes.join(" "),
              one.lastUsedAt ?? "never",
              one.state,
            ]),
            `None yet. Create one with \`${adminCommandLine("service-tokens create --scopes agents:read", options)}\`.`,
          ),
      ),
    );
  addRotate(tokens);
  adminCommand(tokens, "revoke <id>", "revoke one; it stops working at once", { id: "id that `list` shows" })
    .addOption(tokenOrgOption())
    .action((id: string, options: TokenOptions) =>
      administer(
        options,
        async (admin) => {
          await admin.serviceTokens.revoke(await admin.orgFor(options.org), id);
          return { tokenId: id };
        },
        ({ tokenId }) => `Revoked ${tokenId}.`,
      ),
    );
}

function addCreate(tokens: Command): void {
  const create = adminCommand(tokens, "create", "create one; its secret is shown only once")
    .addOption(tokenOrgOption())
    .addOption(
      option(
        "--scopes <scopes>",
        `what it may do, comma-separated; :write includes :read. All: ${SERVICE_SCOPES.join(", ")}`,
      )
        .argParser(parseScopes)
        .makeOptionMandatory(),
    )
    .addOption(option("--label <label>", "the program that uses it"))
    .addOption(
      option("--expires-in-days <days>", "days until it ends, 1 to 3650 (default: never)").argParser((text) =>
        parseWithin(text, 1, 3_650, "expected days, a whole number from 1 to 3650"),
      ),
    )
    .action(({ org, scopes, label, expiresInDays, ...options }: CreateOptions) =>
      administer(
        options,
        async (admin) => {
          const wanted = { orgId: await admin.orgFor(org), scopes, ...present({ label, expiresInDays }) };
          return created(await admin.serviceTokens.create(wanted));
        },
        showCreated,
      ),
    );
  examples(
    create,
    "patchbay service-tokens create --scopes agents:write,keys:write --label terraform --expires-in-days 90",
    'curl -H "Authorization: Bearer service_admin_..." http://127.0.0.1:8787/api/agents',
  );
}

function addRotate(tokens: Command): void {
  adminCommand(tokens, "rotate <id>", "replace its secret; shows the new one only once", {
    id: "id that `list` shows; the new secret has another id",
  })
    .addOption(tokenOrgOption())
    .addOption(overlapOption("how long the old one keeps working: 30m, 24h, 7d, or 0 to revoke it immediately"))
    .action((id: string, { org, overlap, ...options }: TokenOptions & { overlap: number }) =>
      administer(
        options,
        async (admin) => {
          const rotated = await admin.serviceTokens.rotate(await admin.orgFor(org), id, { overlapMs: overlap });
          return { ...created(rotated), replaced: { tokenId: id, endsAt: iso(rotated.oldEndsAt) } };
        },
        ({ replaced, ...made }) => `${showCreated(made)}\n${id} stops working at ${replaced.endsAt}.`,
      ),
    );
}

function created({ token, secret }: { token: Token; secret: string }) {
  const { tokenId, orgId, scopes, expiresAt } = token;
  return { tokenId, orgId, serviceToken: secret, scopes, expiresAt: isoOrNull(expiresAt) };
}

function showCreated({ tokenId, serviceToken, scopes, expiresAt }: ReturnType<typeof created>): string {
  return `${fields([
    ["tokenId", tokenId],
    ["serviceToken", serviceToken],
    ["scopes", scopes.join(", ")],
    ...(expiresAt === null ? [] : [["expiresAt", expiresAt] satisfies [string, string]]),
  ])}\n${SHOWN_ONCE}`;
}

function listed({ tokenId, orgId, hint, label, scopes, createdBy, state, ...times }: Token) {
  const { createdAt, lastUsedAt, expiresAt, revokedAt } = times;
  return {
    tokenId,
    orgId,
    hint,
    label: label ?? null,
    scopes,
    createdBy: createdBy ?? null,
    state,
    createdAt: iso(createdAt),
    lastUsedAt: isoOrNull(lastUsedAt),
    expiresAt: isoOrNull(expiresAt),
    revokedAt: isoOrNull(revokedAt),
  };
}

function parseScopes(text: string, before: ServiceScope[] | undefined): ServiceScope[] {
  const named = parseList(text, before) as ServiceScope[];
  const wrong = named.find((scope) => !SERVICE_SCOPES.includes(scope));
  if (wrong === undefined) return named;
  throw new InvalidArgumentError(`${wrong} is not a scope. Choose from ${SERVICE_SCOPES.join(", ")}.`);
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const isoOrNull = (timeMs: number | undefined): string | null => (timeMs === undefined ? null : iso(timeMs));
