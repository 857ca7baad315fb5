import type { Admin } from "@patchbay/control-plane";
import { InvalidArgumentError, type Command } from "commander";
import { agentOption, examples, option, parseList } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

const DAY_MS = 86_400_000;
const LONGEST_OVERLAP_MS = 7 * DAY_MS;

interface CreateOptions extends AdminOptions {
  agent: string;
  roles?: string[];
  label?: string;
}

interface Listed {
  hint: string;
  label: string | null;
  createdAt: string;
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
}

/** One kind of credential: how it is made, listed, replaced and revoked. */
interface Kind<Item extends Listed> {
  name: string;
  description: string;
  pinnable?: true;
  create(admin: Admin, options: { agentId: string; roles?: string[]; label?: string }): Promise<object>;
  list(admin: Admin, agentId: string): Promise<Item[]>;
  rotate(admin: Admin, id: string, options: { overlapMs: number }): Promise<{ replaced: { endsAt: string } }>;
  revoke(admin: Admin, id: string): Promise<object>;
  idOf(item: Item): string;
}

/** `keys`, `runtime-keys` and `tokens`. */
export function addCredentialCommands(program: Command): void {
  addKind(program, {
    name: "keys",
    description: "API keys: whoever holds one may query its agent",
    pinnable: true,
    create: (admin, options) => admin.createKey(options),
    list: (admin, agentId) => admin.listKeys(agentId),
    rotate: (admin, id, options) => admin.rotateKey(id, options),
    revoke: (admin, id) => admin.revokeKey(id),
    idOf: ({ keyId }) => keyId,
  });
  addKind(program, {
    name: "runtime-keys",
    description: "runtime keys: whoever holds one may connect functions to its agent",
    create: (admin, options) => admin.createRuntimeKey(options),
    list: (admin, agentId) => admin.listRuntimeKeys(agentId),
    rotate: (admin, id, options) => admin.rotateRuntimeKey(id, options),
    revoke: (admin, id) => admin.revokeRuntimeKey(id),
    idOf: ({ keyId }) => keyId,
  });
  addKind(program, {
    name: "tokens",
    description: "access tokens of the local variant, good for 12 hours",
    create: (admin, options) => admin.createToken(options),
    list: (admin, agentId) => admin.listTokens(agentId),
    rotate: (admin, id, options) => admin.rotateToken(id, options),
    revoke: (admin, id) => admin.revokeToken(id),
    idOf: ({ tokenId }) => tokenId,
  });
}

function addKind<Item extends Listed>(program: Command, kind: Kind<Item>): void {
  const parent = program.command(kind.name).description(kind.description);
  const create = adminCommand(parent, "create", "make one for an agent; its secret is shown once")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(option("--label <text>", "a note to know it by"));
  if (kind.pinnable) create.addOption(option("--roles <roles>", "only these roles, by commas").argParser(parseList));
  create.action((options: CreateOptions) =>
    administer(options, (admin) => kind.create(admin, wanted(options)), showMade),
  );
  examples(create, `patchbay ${kind.name} create --agent agt_...${kind.pinnable ? " --roles customer,guest" : ""}`);

  adminCommand(parent, "list", "list those of an agent, without their secrets")
    .addOption(agentOption().makeOptionMandatory())
    .action((options: AdminOptions & { agent: string }) =>
      administer(
        options,
        async (admin) => ({ items: await kind.list(admin, options.agent) }),
        ({ items }) =>
          table(
            ["id", "hint", "label", "created", "last used", "state"],
            items.map((item) => [
              kind.idOf(item),
              item.hint,
              item.label ?? "",
              item.createdAt,
              item.lastUsedAt ?? "never",
              stateOf(item),
            ]),
            `None yet. Make one with \`patchbay ${kind.name} create --agent ID\`.`,
          ),
      ),
    );

  const rotate = adminCommand(parent, "rotate <id>", "make a new secret in its place; it is shown once").addOption(
    option("--overlap <time>", "how long the old one goes on working: 30m, 24h, 7d, or 0 to revoke it at once")
      .argParser(parseOverlap)
      .default(DAY_MS, "24h"),
  );
  rotate.action((id: string, { overlap, ...options }: AdminOptions & { overlap: number }) =>
    administer(options, (admin) => kind.rotate(admin, id, { overlapMs: overlap }), showRotated(id)),
  );
  examples(rotate, `patchbay ${kind.name} rotate ID --overlap 24h`);

  adminCommand(parent, "revoke <id>", "revoke one, at once and for good").action((id: string, options: AdminOptions) =>
    administer(
      options,
      (admin) => kind.revoke(admin, id),
      () => `Revoked ${id}.`,
    ),
  );
}

function wanted({ agent, roles, label }: CreateOptions) {
  return { agentId: agent, ...(roles && { roles }), ...(label !== undefined && { label }) };
}

function showMade(made: object): string {
  const pairs = Object.entries(made).filter(([, value]) => value !== null);
  return `${fields(pairs.map(([name, value]) => [name, String(value)]))}\n${SHOWN_ONCE}`;
}

const showRotated =
  (id: string) =>
  ({ replaced, ...made }: { replaced: { endsAt: string } }): string =>
    `${showMade(made)}\n${id} opens nothing from ${replaced.endsAt} on.`;

const UNITS_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

function parseOverlap(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const timeMs = text === "0" ? 0 : match ? Number(match[1]) * UNITS_MS[match[2]!]! : Number.NaN;
  if (timeMs <= LONGEST_OVERLAP_MS) return timeMs;
  throw new InvalidArgumentError("expected a time of at most 7 days as 30m, 24h or 7d, or 0");
}

function stateOf({ expiresAt, revokedAt }: Listed): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return "valid";
  return Date.parse(expiresAt) < Date.now() ? `expired ${expiresAt}` : `valid until ${expiresAt}`;
}
