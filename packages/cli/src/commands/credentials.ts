import type { Admin } from "@patchbay/control-plane";
import type { Store } from "@patchbay/control-plane/admin";
import { present } from "@patchbay/protocol";
import { InvalidArgumentError, type Command } from "commander";
import { agentOption, examples, option, overlapOption, parseList } from "../options.ts";
import { adminCommandLine, connectCommand, queryCommand } from "../printed-commands.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

type Credentials = Admin["credentials"];
type Created = Awaited<ReturnType<Credentials["create"]>>;
type Listed = Awaited<ReturnType<Credentials["list"]>>[number];

/** One kind of credential, with the property names of its id and its secret in JSON. */
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
    description: "manage access tokens of the local variant, valid for 12 hours",
    id: "tokenId",
    secret: "accessToken",
  },
];

interface CreateOptions extends AdminOptions {
  agent: string;
  roles?: string[];
  can?: "approve"[];
  label?: string;
}

/** `keys`, `runtime-keys` and `tokens`. */
export function addCredentialCommands(program: Command): void {
  for (const kind of KINDS) {
    const parent = program.command(kind.command).description(kind.description);
    addCreate(parent, kind);
    addList(parent, kind);
    addRotate(parent, kind);
    adminCommand(parent, "revoke <id>", "revoke one permanently", {
      id: "id that `list` shows; requests with its secret fail from then on",
    }).action((id: string, options: AdminOptions) =>
      administer(
        options,
        async ({ credentials }) => ({ [kind.id]: id, agentId: await credentials.revoke(kind.kind, id) }),
        () => `Revoked ${id}.`,
      ),
    );
  }
}

function addCreate(parent: Command, kind: Kind): void {
  const isApiKey = kind.kind === "api";
  const create = adminCommand(parent, "create", "create one for an agent; shows its secret only once")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(option("--label <text>", "a note that `list` and the console show, to recognise it by"));
  if (isApiKey)
    create
      .addOption(
        option(
          "--roles <roles>",
          "roles that queries with this key may name, comma-separated (default: every role); another role is answered with 403",
        ).argParser(parseList),
      )
      .addOption(
        option(
          "--can <rights>",
          "rights besides sending queries, comma-separated; `approve` reads and decides approvals (default: none)",
        ).argParser(parseRights),
      );
  create.action(({ agent, roles, can, label, ...options }: CreateOptions) => {
    const wanted = { agentId: agent, ...present({ roles, can, label }) };
    let use = "";
    return administer(
      options,
      async ({ credentials }, store) => {
        const created = named(kind, await credentials.create(kind.kind, wanted));
        use = await useOf(kind, agent, store);
        return created;
      },
      (created) => showCreated(created) + use,
    );
  });
  examples(create, `patchbay ${kind.command} create --agent agt_...${isApiKey ? " --roles customer,guest" : ""}`);
}

function addList(parent: Command, kind: Kind): void {
  adminCommand(parent, "list", "list those of an agent, without their secrets")
    .addOption(agentOption().makeOptionMandatory())
    .action((options: AdminOptions & { agent: string }) =>
      administer(
        options,
        async ({ credentials }) => ({
          items: (await credentials.list(kind.kind, options.agent)).map((one) => listed(kind, one)),
        }),
        ({ items }) =>
          table(
            ["id", "hint", "label", "created", "last used", "state"],
            items.map((item) => [
              String((item as Record<string, unknown>)[kind.id]),
              item.hint,
              item.label ?? "",
              item.createdAt,
              item.lastUsedAt ?? "never",
              stateOf(item),
            ]),
            `None yet. Create one with \`${adminCommandLine(`${kind.command} create --agent ${options.agent}`, options)}\`.`,
          ),
      ),
    );
}

function addRotate(parent: Command, kind: Kind): void {
  const rotate = adminCommand(parent, "rotate <id>", "replace its secret; shows the new one only once", {
    id: "id that `list` shows; the new secret has another id",
  }).addOption(overlapOption("how long the old one keeps working: 30m, 24h, 7d, or 0 to revoke it immediately"));
  rotate.action((id: string, { overlap, ...options }: AdminOptions & { overlap: number }) =>
    administer(
      options,
      async ({ credentials }) => {
        const rotated = await credentials.rotate(kind.kind, id, { overlapMs: overlap });
        return { ...named(kind, rotated), replaced: { [kind.id]: id, endsAt: iso(rotated.oldEndsAt) } };
      },
      ({ replaced, ...created }) => `${showCreated(created)}\n${id} stops working at ${replaced.endsAt}.`,
    ),
  );
  examples(rotate, `patchbay ${kind.command} rotate ID --overlap 24h`);
}

function named({ kind, id, secret }: Kind, created: Created) {
  return {
    [id]: created.credentialId,
    agentId: created.agentId,
    [secret]: created.secret,
    ...(kind === "api" && { roles: created.roles, ...(created.can && { can: created.can }) }),
    ...(kind === "access" && { expiresAt: isoOrNull(created.expiresAt ?? undefined) }),
  };
}

function listed({ kind, id }: Kind, stored: Listed) {
  return {
    [id]: stored.credentialId,
    ...(kind === "api" && { roles: stored.roles ?? null, ...(stored.can && { can: stored.can }) }),
    agentId: stored.agentId,
    hint: stored.hint,
    label: stored.label ?? null,
    createdAt: iso(stored.createdAt),
    lastUsedAt: isoOrNull(stored.lastUsedAt),
    expiresAt: isoOrNull(stored.expiresAt),
    revokedAt: isoOrNull(stored.revokedAt),
  };
}

function showCreated(created: object): string {
  const pairs = Object.entries(created).filter(([, value]) => value !== null);
  return `${fields(pairs.map(([name, value]) => [name, String(value)]))}\n${SHOWN_ONCE}`;
}

/** The command that a new key is for, at the address of the service's last start. Empty before the first start, and for tokens. */
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

function parseRights(text: string): "approve"[] {
  const rights = text.split(",").map((right) => right.trim());
  if (rights.every((right) => right === "approve")) return rights;
  throw new InvalidArgumentError("the only right is approve");
}

const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const isoOrNull = (timeMs: number | undefined): string | null => (timeMs === undefined ? null : iso(timeMs));
