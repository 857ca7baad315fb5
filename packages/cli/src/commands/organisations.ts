import type { Admin, InvitedMember } from "@patchbay/control-plane";
import type { Store } from "@patchbay/control-plane/admin";
import { present } from "@patchbay/kit";
import type { Command } from "commander";
import { option, orgOption, requiredOrgOption, parseUrl, tiersOption } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { listing } from "../table.ts";
import { adminCommand, SHOWN_ONCE, shownMembers } from "./administer.ts";

/** `orgs` and `credits`. */
export function addOrganisationCommands(program: Command): void {
  const orgs = program.command("orgs").description("manage organisations and their query limits");
  adminCommand(orgs, "create <name>", "create an organisation, and the database if it is missing", {
    arguments: { name: "what the console and lists show; it need not be unique" },
    options: [
      option(
        "--tier <tier>",
        "rate limit and charging for its queries: sandbox, starter, growth, scale, or a tier from --tiers",
        { preset: "sandbox" },
      ),
      tiersOption(),
    ],
    examples: ["patchbay orgs create Acme --tier growth", "patchbay credits grant --org org_... 50"],
    mayCreate: () => true,
    work: ({ admin, args: [name], options: { tier } }) => admin.createOrg(name, tier),
    show: ({ orgId, tier }) => shownMembers({ organisation: orgId, tier }),
  });
  adminCommand(orgs, "list", "list the organisations", {
    work: async ({ admin }) => ({ items: await admin.listOrgs() }),
    show: ({ items }, { options }) =>
      listing(items, `No organisations yet. Create one with \`${adminCommandLine("orgs create NAME", options)}\`.`, {
        id: "orgId",
        name: "name",
        tier: "tier",
      }),
  });

  const credits = program.command("credits").description("manage credits, with which tiers other than sandbox pay");
  const show = ({ orgId, balanceUsd }: { orgId: string; balanceUsd: number }) =>
    shownMembers({ organisation: orgId, balance: `${balanceUsd} USD` });
  const options = [requiredOrgOption()];
  adminCommand(credits, "grant <amount-usd>", "add to an organisation's balance", {
    arguments: { "amount-usd": "US dollars, such as 25 or 0.5; prints the new balance" },
    options,
    examples: ["patchbay credits grant --org org_... 12.50"],
    work: ({ admin, args: [amount], options: { org } }) => admin.grant(org, amount),
    show,
  });
  adminCommand(credits, "show", "show an organisation's balance", {
    options,
    work: ({ admin, options: { org } }) => admin.showCredits(org),
    show,
  });
}

const memberOrgOption = () => orgOption("the organisation (default: the only one)");
const publicUrlOption = () =>
  option("--public-url <url>", "service address, with which the link begins (default: its address at its last start)", {
    parse: parseUrl,
  });

const ID = { id: "id that `members list` shows" };

/** `members`: people who may sign in to the console. */
export function addMemberCommands(program: Command): void {
  const members = program.command("members").description("manage members, who sign in to the console");
  adminCommand(members, "list", "list the members", {
    options: [memberOrgOption()],
    work: async ({ admin, options }) => ({ items: await listMembers(admin, options.org) }),
    show: ({ items }, { options }) =>
      listing(
        items,
        `No members yet. Invite one with \`${adminCommandLine("members invite EMAIL --role owner", options)}\`.`,
        {
          id: "memberId",
          organisation: "orgId",
          "e-mail": ({ email }) => email ?? "(development)",
          name: "name",
          role: "role",
          state: ({ active }) => (active ? "active" : "invited"),
        },
      ),
  });
  adminCommand(members, "invite <email>", "invite a member; prints a one-time link, valid for 7 days", {
    arguments: { email: "sign-in address; receives no mail" },
    options: [
      memberOrgOption(),
      option("--role <role>", "what the member may do in the console", {
        choices: ["viewer", "developer", "owner"],
        required: true,
      }),
      option("--name <name>", "display name in the console"),
      publicUrlOption(),
    ],
    examples: ["patchbay members invite ann@example.com --role owner --public-url https://patchbay.example.com"],
    async work({ admin, store, args: [email], options }) {
      const { org, role, name } = options;
      const invited = await admin.members.invite({ orgId: await admin.orgFor(org), email, role, ...present({ name }) });
      return withLink(await addressOf(options, store), invited);
    },
    show: showLink,
  });
  const description = "print a new link for a member, to join or to set another password; it replaces earlier ones";
  adminCommand(members, "link <id>", description, {
    arguments: ID,
    options: [publicUrlOption()],
    work: async ({ admin, store, args: [id], options }) =>
      withLink(await addressOf(options, store), await admin.members.link(await admin.members.orgOf(id), id)),
    show: showLink,
  });
  adminCommand(members, "remove <id>", "remove a member and end its sessions", {
    arguments: ID,
    work: async ({ admin, args: [id] }) => admin.members.remove(await admin.members.orgOf(id), id),
    show: ({ memberId }) => `Removed ${memberId}.`,
  });
}

async function listMembers(admin: Admin, orgId: string | undefined) {
  const orgs = orgId === undefined ? await admin.listOrgs() : [{ orgId }];
  const members = [];
  for (const { orgId } of orgs) {
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await admin.members.list(orgId, present({ cursor }));
      members.push(...page.items);
      cursor = page.nextCursor;
    }
  }
  return members;
}

/** A service that was never started gets the default address of `serve`. */
async function addressOf({ publicUrl }: { publicUrl?: string }, store: Store): Promise<string> {
  return publicUrl ?? (await store.address()) ?? "http://127.0.0.1:8787";
}

function withLink(publicUrl: string, { member, path, expiresAt }: InvitedMember) {
  return { ...member, link: publicUrl + path, expiresAt };
}

function showLink({ memberId: member, email, role, link, expiresAt }: ReturnType<typeof withLink>): string {
  const shown = { member, "e-mail": email ?? "(development)", role, link, "valid until": expiresAt };
  return `${shownMembers(shown)}\n${SHOWN_ONCE}`;
}
