import { newMemberId } from "../../accounts/members.ts";
import { hashSecret, randomBase62 } from "../../accounts/secret.ts";
import type { Exchange } from "../../http/kernel/exchange.ts";
import type { LinkRecord } from "../../ports/members.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import type { ConsoleDeps, HandlersOf } from "../handler.ts";
import { shownSession, type SignIn } from "./routes.ts";
import { requireTransport } from "./transport.ts";

type LinkRoutes = "POST /links" | "POST /links/open" | "POST /links/accept";

/** Also the default of `patchbay orgs create`. */
const TIER = "sandbox";

interface Accepted {
  name: string;
  email: string | undefined;
  organisation: string | undefined;
  passwordHash: string;
}

/** One-time links: set-up by the first owner, invitations, and sign-in without a password in development. */
export function linkRoutes(deps: ConsoleDeps, signIn: SignIn): HandlersOf<LinkRoutes> {
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
      return {
        kind,
        email: member?.email ?? null,
        organisation: org?.name ?? null,
        expiresAt: new Date(expiresAt).toISOString(),
      };
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
  };
}

/** The link with this secret, and the client that its password is hashed for. Counts as an attempt to sign in. */
async function findLink(deps: ConsoleDeps, { attempts }: SignIn, exchange: Exchange, secret: string) {
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

/** The first owner gets the organisation that commands made before the first sign-in. */
async function orgToSetUp({ store }: ConsoleDeps): Promise<LinkRecord["org"]> {
  const [first, ...others] = await store.accounts.listOrgs();
  if (others.length > 0)
    throw new ServiceError(
      "conflict",
      "There are several organisations by now. Invite the owner of one: patchbay members invite EMAIL --org ID --role owner",
    );
  return first ?? null;
}

async function setUp(
  { store }: ConsoleDeps,
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

/** Shown only to a client with the link's secret: the inviting organisation must not learn who is a member elsewhere. */
function addressTaken(email: string | null | undefined): ServiceError {
  return new ServiceError(
    "conflict",
    `${email ?? "This address"} signs in to another organisation of this service, and an address signs in to one. Ask for an invitation to another address, or ask an owner there to remove you first: this link works until it expires.`,
  );
}
