import type { Admin, InvitedMember } from "@patchbay/control-plane";
import type { Command } from "commander";
import { examples, option, parseUrl } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, SHOWN_ONCE, type AdminOptions } from "./administer.ts";

interface MemberOptions extends AdminOptions {
  org?: string;
}
interface LinkOptions extends AdminOptions {
  publicUrl: string;
}

const orgOption = () => option("--org <id>", "the organisation (default: the only one)");
const publicUrlOption = () =>
  option("--public-url <url>", "address of the service, which the link begins with")
    .argParser(parseUrl)
    .default("http://127.0.0.1:8787");
const roleOption = () => option("--role <role>", "what they may do").choices(["viewer", "developer", "owner"]);

/** `members`: who may sign in to the console. */
export function addMemberCommands(program: Command): void {
  const members = program.command("members").description("members: people who sign in to the console");
  adminCommand(members, "list", "list the members")
    .addOption(orgOption())
    .action((options: MemberOptions) =>
      administer(
        options,
        async (admin) => ({ items: await everyMember(admin, options.org) }),
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
            "No members yet. Invite one with `patchbay members invite EMAIL --role owner`.",
          ),
      ),
    );
  const invite = adminCommand(
    members,
    "invite <email>",
    "invite a member; prints a link that is used once, within 7 days",
  )
    .addOption(orgOption())
    .addOption(roleOption().makeOptionMandatory())
    .addOption(option("--name <name>", "the member's name"))
    .addOption(publicUrlOption())
    .action((email: string, options: MemberOptions & LinkOptions & { role: Role; name?: string }) => {
      const { org, role, name, publicUrl } = options;
      return administer(
        options,
        async (admin) =>
          withLink(
            publicUrl,
            await admin.members.invite({
              orgId: await admin.orgFor(org),
              email,
              role,
              ...(name !== undefined && { name }),
            }),
          ),
        showLink,
      );
    });
  examples(invite, "patchbay members invite ann@example.com --role owner --public-url https://patchbay.example.com");
  adminCommand(
    members,
    "link <id>",
    "print another link for a member, to join or to set another password; it replaces earlier ones",
  )
    .addOption(publicUrlOption())
    .action((id: string, options: LinkOptions) =>
      administer(
        options,
        async (admin) => withLink(options.publicUrl, await admin.members.link(await admin.members.orgOf(id), id)),
        showLink,
      ),
    );
  adminCommand(members, "remove <id>", "remove a member; its sessions end").action(
    (id: string, options: AdminOptions) =>
      administer(
        options,
        async (admin) => admin.members.remove(await admin.members.orgOf(id), id),
        ({ memberId }) => `Removed ${memberId}.`,
      ),
  );
}

type Role = InvitedMember["member"]["role"];

async function everyMember(admin: Admin, orgId: string | undefined) {
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
