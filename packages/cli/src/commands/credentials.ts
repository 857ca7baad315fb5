import type { Admin } from "@patchbay/control-plane";
import type { Command } from "commander";
import { agentOption, examples, option, parseList } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

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

/** One kind of credential: how it is made, listed and revoked. */
interface Kind<Item extends Listed> {
  name: string;
  description: string;
  pinnable?: true;
  create(admin: Admin, options: { agentId: string; roles?: string[]; label?: string }): Promise<object>;
  list(admin: Admin, agentId: string): Promise<Item[]>;
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
    revoke: (admin, id) => admin.revokeKey(id),
    idOf: ({ keyId }) => keyId,
  });
  addKind(program, {
    name: "runtime-keys",
    description: "runtime keys: whoever holds one may connect functions to its agent",
    create: (admin, options) => admin.createRuntimeKey(options),
    list: (admin, agentId) => admin.listRuntimeKeys(agentId),
    revoke: (admin, id) => admin.revokeRuntimeKey(id),
    idOf: ({ keyId }) => keyId,
  });
  addKind(program, {
    name: "tokens",
    description: "access tokens of the local variant, good for 12 hours",
    create: (admin, options) => admin.createToken(options),
    list: (admin, agentId) => admin.listTokens(agentId),
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

function stateOf({ expiresAt, revokedAt }: Listed): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return "valid";
  return Date.parse(expiresAt) < Date.now() ? `expired ${expiresAt}` : `valid until ${expiresAt}`;
}
