import { hashSecret, randomBase62 } from "../../accounts/secret.ts";
import { newMemberId } from "../../accounts/members.ts";
import type { Exchange } from "../../http/deps.ts";
import type { LinkRecord } from "../../ports/console-store.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { ConsoleError } from "../console-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { ConsoleExchange, HandlersOf } from "../handler.ts";
import type { SignIn } from "../sign-in/sign-in.ts";
import { requireTransport } from "../sign-in/transport.ts";
import { shownSession } from "./session.ts";

type LinkRoutes = "POST /links" | "POST /links/open" | "POST /links/accept";

/** What an operator makes without naming another. */
const TIER = "sandbox";

interface Accepted {
  name: string;
  email: string | undefined;
  organisation: string | undefined;
  passwordHash: string;
}

/** One-time links: the way in for the first owner, for whoever is invited, and in development. */
export function linkHandlers(
  deps: ConsoleDeps,
  { sessions, passwords, attempts, knownBrowsers }: SignIn,
): HandlersOf<LinkRoutes> {
  const { accounts, audit, console } = deps.store;

  /** The link of a secret, with what is known before it is taken. */
  async function find(exchange: Exchange, secret: string) {
    requireTransport(exchange, deps);
    const client = await attempts.take(exchange);
    const hash = hashSecret(secret);
    const link = await console.signIn.link(hash);
    // A link that signs in without a password is for development, even on a database that is served later.
    if (!link || (link.kind === "sign_in" && !deps.local)) throw gone();
    await attempts.succeeded(exchange);
    if (link.addressTaken) throw addressTaken(link.member?.email);
    const org = link.kind === "setup" ? await orgToSetUp() : link.org;
    return { ...link, hash, org, client };
  }

  /** What was made by commands before anybody signed in is the first owner's. */
  async function orgToSetUp(): Promise<LinkRecord["org"]> {
    const [first, ...others] = await accounts.listOrgs();
    if (others.length > 0)
      throw new ConsoleError(
        "conflict",
        "There are several organisations by now. Invite the owner of one: patchbay members invite EMAIL --org ID --role owner",
      );
    return first ?? null;
  }

  async function setUp(hash: string, known: LinkRecord["org"], accepted: Accepted): Promise<string> {
    const { name, email, organisation, passwordHash } = accepted;
    if (email === undefined) throw missing("email", "is needed to sign in again");
    const org = known ?? newOrg(organisation);
    const owner = { memberId: newMemberId(), orgId: org.orgId, email, name, role: "owner" as const, passwordHash };
    const made = known ? {} : { org: { ...org, tier: TIER } };
    if (!(await console.signIn.setUp(hash, { owner, ...made }))) throw gone();
    const about = { orgId: org.orgId, keyId: owner.memberId };
    const created = known ? [] : [{ ...about, action: "org.created", detail: { tier: TIER } }];
    await audit.record([...created, { ...about, action: "member.joined" }]);
    return owner.memberId;
  }

  async function openSession(exchange: ConsoleExchange, account: { memberId: string; passwordHash: string }) {
    const session = await sessions.open(exchange, account);
    knownBrowsers.remember(exchange, account);
    return shownSession(exchange, deps, session);
  }

  return {
    async "POST /links"({ body, exchange }) {
      const { kind, member, org, expiresAt } = await find(exchange, body.link);
      return {
        kind,
        email: member?.email ?? null,
        organisation: org?.name ?? null,
        expiresAt: new Date(expiresAt).toISOString(),
      };
    },

    async "POST /links/open"({ body, exchange }) {
      const { kind, hash, member } = await find(exchange, body.link);
      if (kind !== "sign_in" || !member)
        throw new ServiceError(
          "invalid_request",
          "This link asks for a name and a password first: POST /links/accept.",
        );
      if (!(await console.signIn.useLink(hash))) throw gone();
      const { orgId, memberId } = member;
      await audit.record([{ orgId, keyId: memberId, action: "member.signed_in", detail: { by: "link" } }]);
      return shownSession(exchange, deps, await sessions.open(exchange, member));
    },

    async "POST /links/accept"({ body, exchange }) {
      const { link, name, email, organisation, password } = body;
      const { kind, hash, member, org, client } = await find(exchange, link);
      const passwordHash = await passwords.hash(password, client);
      if (kind === "setup") {
        const memberId = await setUp(hash, org, { name, email, organisation, passwordHash });
        return openSession(exchange, { memberId, passwordHash });
      }
      if (kind !== "invitation" || !member)
        throw new ServiceError("invalid_request", "This link needs no password: POST /links/open.");
      const { memberId, orgId } = member;
      const chosen = { memberId, name, passwordHash };
      const outcome = await console.signIn.acceptInvitation(hash, chosen);
      if (outcome === "address_taken") throw addressTaken(member.email);
      if (outcome === "gone") throw gone();
      await audit.record([{ orgId, keyId: memberId, action: "member.joined" }]);
      return openSession(exchange, { memberId, passwordHash });
    },
  };
}

function newOrg(name: string | undefined): { orgId: string; name: string } {
  if (name === undefined) throw missing("organisation", "needs a name");
  return { orgId: `org_${randomBase62(22)}`, name };
}

function gone(): ServiceError {
  return new ServiceError(
    "not_found",
    "This link was used, has expired, or was withdrawn or replaced. Ask an owner for another one, or restart the service.",
  );
}

/** Only the holder of the link reads this: the organisation that made it must not learn who is a member elsewhere. */
function addressTaken(email: string | null | undefined): ConsoleError {
  return new ConsoleError(
    "conflict",
    `${email ?? "This address"} signs in to another organisation of this service, and an address signs in to one. Ask for an invitation to another address, or ask an owner there to remove you first: this link works until it expires.`,
  );
}

function missing(path: string, message: string): ServiceError {
  return new ServiceError("invalid_request", `Invalid request: ${path}: ${message}`, { details: [{ path, message }] });
}
