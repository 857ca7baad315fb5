import type { Admin, InvitedMember } from "@patchbay/control-plane";
import type { Store } from "@patchbay/control-plane/admin";
import type { Command } from "commander";
import { examples, option, orgOption, parseUrl, tiersOption } from "../options.ts";
import { adminCommandLine } from "../printed-commands.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

/** `orgs` and `credits`. */
export function addOrganisationCommands(program: Command): void {
  addOrgs(program);
  addCredits(program);
}

function addOrgs(program: Command): void {
  const orgs = program.command("orgs").description("manage organisations and their query limits");
  const create = adminCommand(orgs, "create <name>", "create an organisation, and the database if it is missing", {
    name: "what the console and lists show; it need not be unique",
  })
    .addOption(
      option(
        "--tier <tier>",
        "limit and charging of its queries: sandbox, starter, growth, scale, or a tier of --tiers",
      ).default("sandbox"),
    )
    .addOption(tiersOption())
    .action((name: string, options: AdminOptions & { tier: string }) =>
      administer(
        options,
        (admin) => admin.createOrg(name, options.tier),
        ({ orgId, tier }) =>
          fields([
            ["organisation", orgId],
            ["tier", tier],
          ]),
        { mayCreate: true },
      ),
    );
  examples(create, "patchbay orgs create Acme --tier growth", "patchbay credits grant --org org_... 50");
  adminCommand(orgs, "list", "list the organisations").action((options: AdminOptions) =>
    administer(
      options,
      async (admin) => ({ items: await admin.listOrgs() }),
      ({ items }) =>
        table(
          ["id", "name", "tier"],
          items.map((org) => [org.orgId, org.name, org.tier]),
          `No organisations yet. Create one with \`${adminCommandLine("orgs create NAME", options)}\`.`,
        ),
    ),
  );
}

function addCredits(program: Command): void {
  const credits = program.command("credits").description("manage credits, which tiers other than sandbox pay with");
  const show = ({ orgId, balanceUsd }: { orgId: string; balanceUsd: number }) =>
    fields([
      ["organisation", orgId],
      ["balance", `${balanceUsd} USD`],
    ]);
  const grant = adminCommand(credits, "grant <amount-usd>", "add to an organisation's balance", {
    "amount-usd": "US dollars, such as 25 or 0.5; prints the new balance",
  })
    .addOption(orgOption().makeOptionMandatory())
    .action((amount: string, options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.grant(options.org, amount), show),
    );
  examples(grant, "patchbay credits grant --org org_... 12.50");
  adminCommand(credits, "show", "show an organisation's balance")
    .addOption(orgOption().makeOptionMandatory())
    .action((options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.showCredits(options.org), show),
    );
}

interface MemberOptions extends AdminOptions {
  org?: string;
}
interface LinkOptions extends AdminOptions {
  publicUrl?: string;
}
type Role = InvitedMember["member"]["role"];

const memberOrgOption = () => option("--org <id>", "the organisation (default: the only one)");
const publicUrlOption = () =>
  option(
    "--public-url <url>",
    "address of the service, at which the link begins (default: its address at its last start)",
  ).argParser(parseUrl);
const roleOption = () =>
  option("--role <role>", "what the member may do in the console").choices(["viewer", "developer", "owner"]);

/** `members`: people who may sign in to the console. */
export function addMemberCommands(program: Command): void {
  const members = program.command("members").description("manage members, who sign in to the console");
  adminCommand(members, "list", "list the members")
    .addOption(memberOrgOption())
    .action((options: MemberOptions) =>
      administer(
        options,
        async (admin) => ({ items: await listMembers(admin, options.org) }),
        ({ items }) =>
          table(
            ["id", "organisation", "e-mail", "name", "role", "state"],
            items.map((one) => [
              one.memberId,
              one.orgId,
              one.email ?? "(development)",
              one.name,
              one.role,
              one.active ? "active" : "invited",
            ]),
            `No members yet. Invite one with \`${adminCommandLine("members invite EMAIL --role owner", options)}\`.`,
          ),
      ),
    );
  addInvite(members);
  adminCommand(
    members,
    "link <id>",
    "print a new link for a member, to join or to set another password; it replaces earlier ones",
    { id: "id that `members list` shows" },
  )
    .addOption(publicUrlOption())
    .action((id: string, options: LinkOptions) =>
      administer(
        options,
        async (admin, store) =>
          withLink(await addressOf(options, store), await admin.members.link(await admin.members.orgOf(id), id)),
        showLink,
      ),
    );
  adminCommand(members, "remove <id>", "remove a member and end its sessions", {
    id: "id that `members list` shows",
  }).action((id: string, options: AdminOptions) =>
    administer(
      options,
      async (admin) => admin.members.remove(await admin.members.orgOf(id), id),
      ({ memberId }) => `Removed ${memberId}.`,
    ),
  );
}

function addInvite(members: Command): void {
  const invite = adminCommand(members, "invite <email>", "invite a member; prints a one-time link, valid for 7 days", {
    email: "address that the member signs in with; nothing is sent to it",
  })
    .addOption(memberOrgOption())
    .addOption(roleOption().makeOptionMandatory())
    .addOption(option("--name <name>", "name that the console shows for the member"))
    .addOption(publicUrlOption())
    .action((email: string, options: MemberOptions & LinkOptions & { role: Role; name?: string }) => {
      const { org, role, name } = options;
      return administer(
        options,
        async (admin, store) => {
          const orgId = await admin.orgFor(org);
          const invited = await admin.members.invite({ orgId, email, role, ...(name !== undefined && { name }) });
          return withLink(await addressOf(options, store), invited);
        },
        showLink,
      );
    });
  examples(invite, "patchbay members invite ann@example.com --role owner --public-url https://patchbay.example.com");
}

async function listMembers(admin: Admin, orgId: string | undefined) {
  const orgs = orgId === undefined ? await admin.listOrgs() : [{ orgId }];
  const members = [];
  for (const { orgId } of orgs) {
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await admin.members.list(orgId, { ...(cursor !== undefined && { cursor }) });
      members.push(...page.items);
      cursor = page.nextCursor;
    }
  }
  return members;
}

/** Of a service that was never started, the address is the default one of `serve`. */
async function addressOf({ publicUrl }: LinkOptions, store: Store): Promise<string> {
  return publicUrl ?? (await store.address()) ?? "http://127.0.0.1:8787";
}

function withLink(publicUrl: string, { member, path, expiresAt }: InvitedMember) {
  return { ...member, link: publicUrl + path, expiresAt };
}

function showLink({ memberId, email, role, link, expiresAt }: ReturnType<typeof withLink>): string {
  return `${fields([
    ["member", memberId],
    ["e-mail", email ?? "(development)"],
    ["role", role],
    ["link", link],
    ["valid until", expiresAt],
  ])}\n${SHOWN_ONCE}`;
}
