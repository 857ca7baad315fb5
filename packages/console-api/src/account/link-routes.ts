import { isoTime } from "@patchbay/kit";
import { newMemberId } from "@patchbay/server/accounts/members";
import { hashSecret, randomBase62 } from "@patchbay/server/accounts/secret";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { LinkRecord } from "@patchbay/engine/ports/store/members";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { ConsoleRequest, Handlers } from "../handler.ts";
import { shownSession, type SignIn, type SignInDeps } from "./routes.ts";
import { requireTransport } from "./transport.ts";

/** Also the default in `patchbay orgs create`. */
const TIER = "sandbox";

type Accepted = Omit<ConsoleRequest<"POST /links/accept">["body"], "link" | "password"> & { passwordHash: string };

/** One-time links: set-up by the first owner, invitations, and sign-in without a password in development. */
export function linkRoutes(deps: SignInDeps, signIn: SignIn) {
  const { store } = deps;
  const { sessions, passwords, knownBrowsers } = signIn;

  async function openSession(exchange: Exchange, account: { memberId: string; passwordHash: string }) {
    const session = await sessions.open(exchange, account);
    knownBrowsers.remember(exchange, account);
    return shownSession(exchange, deps, session);
  }

  return {
    async "POST /links"({ body, exchange }) {
      const { kind, member, org, expiresAt } = await findLink(deps, signIn, exchange, body.link);
      return { kind, email: member?.email ?? null, organisation: org?.name ?? null, expiresAt: isoTime(expiresAt) };
    },

    async "POST /links/open"({ body, exchange }) {
      const { kind, hash, member } = await findLink(deps, signIn, exchange, body.link);
      if (kind !== "sign_in" || !member)
        throw new ServiceError(
          "invalid_request",
          "This link asks for a name and a password first: POST /links/accept.",
        );
      if (!(await store.signIn.useLink(hash))) throw gone();
      const { orgId, memberId } = member;
      await store.audit.record([{ orgId, keyId: memberId, action: "member.signed_in", detail: { by: "link" } }]);
      return shownSession(exchange, deps, await sessions.open(exchange, member));
    },

    async "POST /links/accept"({ body, exchange }) {
      const { link, name, email, organisation, password } = body;
      const { kind, hash, member, org, client } = await findLink(deps, signIn, exchange, link);
      const passwordHash = await passwords.hash(password, client);
      if (kind === "setup") {
        const memberId = await setUp(deps, hash, org, { name, email, organisation, passwordHash });
        return openSession(exchange, { memberId, passwordHash });
      }
      if (kind !== "invitation" || !member)
        throw new ServiceError("invalid_request", "This link needs no password: POST /links/open.");
      const { memberId, orgId } = member;
      const outcome = await store.signIn.acceptInvitation(hash, { memberId, name, passwordHash });
      if (outcome === "address_taken") throw addressTaken(member.email);
      if (outcome === "gone") throw gone();
      await store.audit.record([{ orgId, keyId: memberId, action: "member.joined" }]);
      return openSession(exchange, { memberId, passwordHash });
    },
  } satisfies Handlers;
}

/** The link with this secret, and the client for hashing its password. Counts as a sign-in attempt. */
async function findLink(deps: SignInDeps, { attempts }: SignIn, exchange: Exchange, secret: string) {
  requireTransport(exchange, deps);
  const client = await attempts.take(exchange);
  const hash = hashSecret(secret);
  const link = await deps.store.signIn.link(hash);
  // Links that sign in without a password are for development, also when a production service later uses the database.
  if (!link || (link.kind === "sign_in" && !deps.local)) throw gone();
  await attempts.succeeded(exchange);
  if (link.addressTaken) throw addressTaken(link.member?.email);
  const org = link.kind === "setup" ? await orgToSetUp(deps) : link.org;
  return { ...link, hash, org, client };
}

/** The first owner gets the organisation that commands created before the first sign-in. */
async function orgToSetUp({ store }: SignInDeps): Promise<LinkRecord["org"]> {
  const [first, ...others] = await store.accounts.listOrgs();
  if (others.length > 0)
    throw new ServiceError(
      "conflict",
      "There are several organisations by now. Invite the owner of one: patchbay members invite EMAIL --org ID --role owner",
    );
  return first ?? null;
}

async function setUp(
  { store }: SignInDeps,
  hash: string,
  known: LinkRecord["org"],
  { name, email, organisation, passwordHash }: Accepted,
): Promise<string> {
  if (email === undefined) throw invalid([{ path: "email", message: "is needed to sign in again" }]);
  const org = known ?? newOrg(organisation);
  const owner = { memberId: newMemberId(), orgId: org.orgId, email, name, role: "owner" as const, passwordHash };
  const created = known ? {} : { org: { ...org, tier: TIER } };
  if (!(await store.signIn.setUp(hash, { owner, ...created }))) throw gone();
  const about = { orgId: org.orgId, keyId: owner.memberId };
  const entries = known ? [] : [{ ...about, action: "org.created", detail: { tier: TIER } }];
  await store.audit.record([...entries, { ...about, action: "member.joined" }]);
  return owner.memberId;
}

function newOrg(name: string | undefined): { orgId: string; name: string } {
  if (name === undefined) throw invalid([{ path: "organisation", message: "needs a name" }]);
  return { orgId: `org_${randomBase62(22)}`, name };
}

function gone(): ServiceError {
  return new ServiceError(
    "not_found",
    "This link was used, has expired, or was withdrawn or replaced. Ask an owner for another one, or restart the service.",
  );
}

/**
 * Shown only to a client with the link's secret: the inviting organisation must not learn about memberships elsewhere.
 */
function addressTaken(email: string | null | undefined): ServiceError {
  return new ServiceError(
    "conflict",
    `${email ?? "This address"} signs in to another organisation of this service, and an address signs in to one. Ask for an invitation to another address, or ask an owner there to remove you first: this link works until it expires.`,
  );
}
