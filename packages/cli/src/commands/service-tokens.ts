import type { Admin } from "@patchbay/control-plane";
import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import { SERVICE_SCOPES, type ServiceScope } from "@patchbay/protocol/console";
import { type Command, InvalidArgumentError } from "commander";
import { option, orgOption, overlapOption, parseList, parseWithin } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { listing } from "../table.ts";
import { adminCommand, SHOWN_ONCE, shownMembers } from "./administer.ts";

type Token = Awaited<ReturnType<Admin["serviceTokens"]["get"]>>;

/** Maximum number of tokens that `list` reads. */
const LISTED = 1_000;

const tokenOrgOption = () => orgOption("the organisation (default: the only one)");

/** `service-tokens`: tokens with which programs manage an organisation over HTTP. */
export function addServiceTokenCommands(program: Command): void {
  const tokens = program
    .command("service-tokens")
    .description("manage service tokens, with which programs manage an organisation over HTTP");
  addCreate(tokens);
  adminCommand(tokens, "list", "list an organisation's tokens, without secrets", {
    options: [tokenOrgOption()],
    async work({ admin, options: { org } }) {
      const page = await admin.serviceTokens.list(await admin.orgFor(org), { limit: LISTED });
      return { items: page.items.map(listed) };
    },
    show: ({ items }, { options }) =>
      listing(
        items,
        `None yet. Create one with \`${adminCommandLine("service-tokens create --scopes agents:read", options)}\`.`,
        {
          id: "tokenId",
          hint: "hint",
          label: "label",
          scopes: ({ scopes }) => scopes.join(" "),
          "last used": ({ lastUsedAt }) => lastUsedAt ?? "never",
          state: "state",
        },
      ),
  });
  adminCommand(tokens, "rotate <id>", "replace its secret; shows the new one only once", {
    arguments: { id: "id that `list` shows; the new secret has another id" },
    options: [
      tokenOrgOption(),
      overlapOption("how long the old one keeps working: 30m, 24h, 7d, or 0 to revoke it immediately"),
    ],
    async work({ admin, args: [id], options: { org, overlap } }) {
      const rotated = await admin.serviceTokens.rotate(await admin.orgFor(org), id, { overlapMs: overlap });
      return { ...created(rotated), replaced: { tokenId: id, endsAt: isoTime(rotated.oldEndsAt) } };
    },
    show: ({ replaced, ...made }, { args: [id] }) => `${showCreated(made)}\n${id} stops working at ${replaced.endsAt}.`,
  });
  adminCommand(tokens, "revoke <id>", "revoke one; it stops working at once", {
    arguments: { id: "id that `list` shows" },
    options: [tokenOrgOption()],
    async work({ admin, args: [tokenId], options: { org } }) {
      await admin.serviceTokens.revoke(await admin.orgFor(org), tokenId);
      return { tokenId };
    },
    show: ({ tokenId }) => `Revoked ${tokenId}.`,
  });
}

function addCreate(tokens: Command): void {
  adminCommand(tokens, "create", "create one; its secret is shown only once", {
    options: [
      tokenOrgOption(),
      option(
        "--scopes <scopes>",
        `what it may do, comma-separated; :write includes :read. All: ${SERVICE_SCOPES.join(", ")}`,
        { parse: parseScopes, required: true },
      ),
      option("--label <label>", "the program that uses it"),
      option("--expires-in-days <days>", "days until it ends, 1 to 3650 (default: never)", {
        parse: (text: string) => parseWithin(text, 1, 3_650, "expected days, a whole number from 1 to 3650"),
      }),
    ],
    examples: [
      "patchbay service-tokens create --scopes agents:write,keys:write --label terraform --expires-in-days 90",
      'curl -H "Authorization: Bearer service_admin_..." http://127.0.0.1:8787/api/agents',
    ],
    async work({ admin, options: { org, scopes, label, expiresInDays } }) {
      const wanted = { orgId: await admin.orgFor(org), scopes, ...present({ label, expiresInDays }) };
      return created(await admin.serviceTokens.create(wanted));
    },
    show: showCreated,
  });
}

function created({ token, secret }: { token: Token; secret: string }) {
  const { tokenId, orgId, scopes, expiresAt } = token;
  return { tokenId, orgId, serviceToken: secret, scopes, expiresAt: isoTimeOrNull(expiresAt) };
}

const showCreated = ({ tokenId, serviceToken, scopes, expiresAt }: ReturnType<typeof created>): string =>
  `${shownMembers({ tokenId, serviceToken, scopes: scopes.join(", "), expiresAt })}\n${SHOWN_ONCE}`;

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
    createdAt: isoTime(createdAt),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
    expiresAt: isoTimeOrNull(expiresAt),
    revokedAt: isoTimeOrNull(revokedAt),
  };
}

function parseScopes(text: string, before: ServiceScope[] | undefined): ServiceScope[] {
  const named = parseList(text, before) as ServiceScope[];
  const wrong = named.find((scope) => !SERVICE_SCOPES.includes(scope));
  if (wrong === undefined) return named;
  throw new InvalidArgumentError(`${wrong} is not a scope. Choose from ${SERVICE_SCOPES.join(", ")}.`);
}
