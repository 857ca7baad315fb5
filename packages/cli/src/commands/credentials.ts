import type { Admin } from "@patchbay/control-plane";
import type { Store } from "@patchbay/control-plane/admin";
import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import { LIMITS } from "@patchbay/protocol";
import { InvalidArgumentError, type Command } from "commander";
import { option, overlapOption, parseList, requiredAgentOption } from "../options.ts";
import { adminCommandLine, connectCommand, queryCommand } from "../printed-commands.ts";
import { listing } from "../table.ts";
import { adminCommand, SHOWN_ONCE, shownMembers } from "./administer.ts";

type Credentials = Admin["credentials"];
type Created = Awaited<ReturnType<Credentials["create"]>>;
type Listed = Awaited<ReturnType<Credentials["list"]>>[number];

/** One credential kind, with the property names for its id and its secret in JSON. */
interface Kind {
  kind: Parameters<Credentials["create"]>[0];
  command: string;
  description: string;
  id: "keyId" | "tokenId";
  secret: "apiKey" | "runtimeKey" | "accessToken";
}

const KINDS: readonly Kind[] = [
  {
    kind: "api",
    command: "keys",
    description: "manage API keys, which send queries to an agent",
    id: "keyId",
    secret: "apiKey",
  },
  {
    kind: "runtime",
    command: "runtime-keys",
    description: "manage runtime keys, which connect functions to an agent",
    id: "keyId",
    secret: "runtimeKey",
  },
  {
    kind: "access",
    command: "tokens",
    description: "manage access tokens for the local variant, valid for 12 hours",
    id: "tokenId",
    secret: "accessToken",
  },
];

/** `keys`, `runtime-keys` and `tokens`. */
export function addCredentialCommands(program: Command): void {
  for (const kind of KINDS) {
    const parent = program.command(kind.command).description(kind.description);
    addCreate(parent, kind);
    addList(parent, kind);
    addRotate(parent, kind);
    adminCommand(parent, "revoke <id>", "revoke one permanently", {
      arguments: { id: "id that `list` shows; requests with its secret fail from then on" },
      work: async ({ admin: { credentials }, args: [id] }) => ({
        [kind.id]: id,
        agentId: await credentials.revoke(kind.kind, id),
      }),
      show: (_, { args: [id] }) => `Revoked ${id}.`,
    });
  }
}

const API_KEY_OPTIONS = () => [
  option(
    "--roles <roles>",
    "roles that queries with this key may name, comma-separated (default: every role); another role is answered with 403",
    { parse: parseList },
  ),
  option(
    "--can <rights>",
    "rights besides sending queries, comma-separated; `approve` reads and decides approvals, `check` asks what a role may call (default: none)",
    { parse: parseRights },
  ),
  option(
    "--task-model <name>",
    "model name for background tasks of chat apps that cannot send AGENT:titles (default: none)",
    { parse: parseModel },
  ),
];

function addCreate(parent: Command, kind: Kind): void {
  const isApiKey = kind.kind === "api";
  let use = "";
  adminCommand(parent, "create", "create one for an agent; shows its secret only once", {
    options: [
      requiredAgentOption(),
      option("--label <text>", "a note that `list` and the console show, to recognise it by"),
      ...(isApiKey ? API_KEY_OPTIONS() : []),
    ],
    examples: [`patchbay ${kind.command} create --agent agt_...${isApiKey ? " --roles customer,guest" : ""}`],
    async work({ admin, store, options: { agent, roles, can, taskModel, label } }) {
      const wanted = present({ roles, can, taskModel, label });
      const created = await admin.credentials.create(kind.kind, { agentId: agent, ...wanted });
      use = await useOf(kind, agent, store);
      return named(kind, created);
    },
    show: (created) => showCreated(created) + use,
  });
}

function addList(parent: Command, kind: Kind): void {
  adminCommand(parent, "list", "list an agent's credentials, without secrets", {
    options: [requiredAgentOption()],
    work: async ({ admin, options: { agent } }) => ({
      items: (await admin.credentials.list(kind.kind, agent)).map((credential) => listed(kind, credential)),
    }),
    show: ({ items }, { options }) =>
      listing(
        items,
        `None yet. Create one with \`${adminCommandLine(`${kind.command} create --agent ${options.agent}`, options)}\`.`,
        {
          id: (item) => String((item as Record<string, unknown>)[kind.id]),
          hint: "hint",
          label: "label",
          created: "createdAt",
          "made by": ({ makers }) => makers?.join(", ") ?? "",
          "last used": ({ lastUsedAt }) => lastUsedAt ?? "never",
          state: stateOf,
        },
      ),
  });
}

function addRotate(parent: Command, kind: Kind): void {
  adminCommand(parent, "rotate <id>", "replace its secret; shows the new one only once", {
    arguments: { id: "id that `list` shows; the new secret has another id" },
    options: [overlapOption("how long the old one keeps working: 30m, 24h, 7d, or 0 to revoke it immediately")],
    examples: [`patchbay ${kind.command} rotate ID --overlap 24h`],
    async work({ admin, args: [id], options: { overlap } }) {
      const rotated = await admin.credentials.rotate(kind.kind, id, { overlapMs: overlap });
      return { ...named(kind, rotated), replaced: { [kind.id]: id, endsAt: isoTime(rotated.oldEndsAt) } };
    },
    show: ({ replaced, ...created }, { args: [id] }) =>
      `${showCreated(created)}\n${id} stops working at ${replaced.endsAt}.`,
  });
}

function named({ kind, id, secret }: Kind, created: Created) {
  return {
    [id]: created.credentialId,
    agentId: created.agentId,
    [secret]: created.secret,
    ...(kind === "api" && { roles: created.roles, ...(created.can && { can: created.can }) }),
    ...(kind === "access" && { expiresAt: isoTimeOrNull(created.expiresAt ?? undefined) }),
  };
}

function listed({ kind, id }: Kind, stored: Listed) {
  return {
    [id]: stored.credentialId,
    ...(kind === "api" && {
      roles: stored.roles ?? null,
      ...present({ can: stored.can, taskModel: stored.taskModel }),
    }),
    agentId: stored.agentId,
    hint: stored.hint,
    label: stored.label ?? null,
    createdAt: isoTime(stored.createdAt),
    lastUsedAt: isoTimeOrNull(stored.lastUsedAt),
    expiresAt: isoTimeOrNull(stored.expiresAt),
    revokedAt: isoTimeOrNull(stored.revokedAt),
    ...(stored.makers && { makers: stored.makers }),
  };
}

const showCreated = (created: object): string => `${shownMembers(created)}\n${SHOWN_ONCE}`;

/**
 * The command that uses a new key, with the address from the service's last start. Empty before the first start, and
 * for tokens.
 */
async function useOf({ kind }: Kind, agent: string, store: Store): Promise<string> {
  const url = await store.address();
  if (url === undefined || kind === "access") return "";
  return `\n\nUse it:\n  ${kind === "api" ? queryCommand({ url, agent }) : connectCommand({ url, agent })}`;
}

function stateOf({ expiresAt, revokedAt }: ReturnType<typeof listed>): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return "valid";
  return Date.parse(expiresAt) < Date.now() ? `expired ${expiresAt}` : `valid until ${expiresAt}`;
}

function parseModel(text: string): string {
  if (text !== "" && text.length <= LIMITS.labelUnits) return text;
  throw new InvalidArgumentError(`a model name has 1 to ${LIMITS.labelUnits} characters`);
}

function parseRights(text: string): ("approve" | "check")[] {
  const rights = text.split(",").map((right) => right.trim());
  if (rights.every((right) => right === "approve" || right === "check")) return rights;
  throw new InvalidArgumentError("the rights are approve and check");
}
