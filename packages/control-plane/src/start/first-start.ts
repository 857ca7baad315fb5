import { MemberEmail, MemberPassword, SERVICE_SCOPES } from "@patchbay/protocol/console";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { newMemberId } from "@patchbay/server/accounts/members";
import { hashSecret, hintOf, isWellFormed, randomBase62, type SecretKind } from "@patchbay/server/accounts/secret";
import { createPasswords } from "@patchbay/console-api/account/passwords";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import {
  FIRST_START_NAMES,
  type FirstStartName,
  type FirstStartPlan,
  type FirstStartValue,
} from "@patchbay/engine/ports/store/first-start";
import type { Store } from "@patchbay/engine/ports/store/stores";

/** What a service's first start sets up, if no one can run commands in its environment. */
export interface FirstStart {
  /** The organisation's name. */
  org?: string;
  /** An agent's name. */
  agent?: string;
  /** The agent's id, so that clients can be configured before the first start. Default: a random one. */
  agentId?: string;
  apiKey?: string;
  runtimeKey?: string;
  /** An owner for the organisation, with the password for the first sign-in. */
  ownerEmail?: string;
  ownerPassword?: string;
  /** A service token with all scopes. */
  serviceToken?: string;
}

const OPTIONS: Record<FirstStartName, { key: keyof FirstStart; variable: string }> = {
  organisation: { key: "org", variable: "PATCHBAY_INIT_ORG" },
  agent: { key: "agent", variable: "PATCHBAY_INIT_AGENT" },
  agent_id: { key: "agentId", variable: "PATCHBAY_INIT_AGENT_ID" },
  api_key: { key: "apiKey", variable: "PATCHBAY_INIT_API_KEY" },
  runtime_key: { key: "runtimeKey", variable: "PATCHBAY_INIT_RUNTIME_KEY" },
  owner: { key: "ownerEmail", variable: "PATCHBAY_INIT_OWNER_EMAIL" },
  owner_password: { key: "ownerPassword", variable: "PATCHBAY_INIT_OWNER_PASSWORD" },
  service_token: { key: "serviceToken", variable: "PATCHBAY_INIT_SERVICE_TOKEN" },
};

/** Each option with those that it needs. */
const NEEDS: Partial<Record<FirstStartName, FirstStartName[]>> = {
  agent: ["organisation"],
  agent_id: ["agent"],
  api_key: ["agent"],
  runtime_key: ["agent"],
  owner: ["organisation", "owner_password"],
  owner_password: ["owner"],
  service_token: ["organisation"],
};

const KINDS = { api_key: "api", runtime_key: "runtime", service_token: "service" } as const;
const WORDS: Record<SecretKind, string> = {
  api: "an API key",
  runtime: "a runtime key",
  access: "an access token",
  client: "a client token",
  service: "a service token",
};
const COMMANDS = { api: "api-key", runtime: "runtime-key", service: "service-token" };
const TIER = "sandbox";
const LABEL = "first start";
/** All hashes are made for this client. */
const CLIENT = asStranger("first start");
const AGENT_ID = /^agt_[0-9A-Za-z]{1,60}$/;

type Wanted = Partial<Record<FirstStartName, string>>;

/**
 * Sets up wanted values that are not recorded yet. A value is recorded when it is set up, and later starts only compare
 * it with its record: members' later changes stay. Throws `AdminError` for a value that differs from its record, or
 * that the store contradicts. Replicas may call it at the same time.
 */
export async function setUpAtFirstStart(store: Store, first: FirstStart): Promise<void> {
  const wanted = checked(first);
  if (Object.keys(wanted).length === 0) return;
  for (;;) {
    const recorded = await store.firstStart.recorded();
    for (const name of FIRST_START_NAMES) {
      const [known, value] = [recorded[name], wanted[name]];
      if (known !== undefined && value !== undefined && !(await isSame(name, value, known.value))) throw differs(name);
    }
    const missing = Object.fromEntries(Object.entries(wanted).filter(([name]) => !(name in recorded))) as Wanted;
    if (Object.keys(missing).length === 0) return;
    const plan = await planOf(store, { missing, wanted, recorded }).catch(async (error: unknown) => {
      // The contradicting rows may come from another replica, which has recorded them in the meantime.
      const now = await store.firstStart.recorded();
      if (Object.keys(now).length === Object.keys(recorded).length) throw error;
      return undefined;
    });
    if (!plan) continue;
    const outcome = await store.firstStart.apply(plan);
    if (outcome === "stored") return;
    if (outcome === "member_exists")
      throw contradicts(
        "owner",
        `${wanted.owner} is invited or a member already. Use another address, or remove the member.`,
      );
    // Another replica has recorded a value in the meantime, which is compared.
  }
}

/** The given values, trimmed, by record name. Throws `AdminError` for unusable values. */
function checked(first: FirstStart): Wanted {
  const given = FIRST_START_NAMES.flatMap((name): [FirstStartName, string][] => {
    const { key } = OPTIONS[name];
    const value = key === "ownerPassword" ? first[key] : first[key]?.trim();
    return value === undefined || value === "" ? [] : [[name, key === "ownerEmail" ? value.toLowerCase() : value]];
  });
  const wanted: Wanted = Object.fromEntries(given);
  for (const [name, value] of given) {
    const { variable } = OPTIONS[name];
    const lacking = (NEEDS[name] ?? []).find((other) => wanted[other] === undefined);
    if (lacking) throw new AdminError(`${variable} needs ${OPTIONS[lacking].variable}. Set both, or neither.`);
    const fault = faultOf(name, value);
    if (fault) throw new AdminError(`${variable} ${fault}`);
  }
  return wanted;
}

function faultOf(name: FirstStartName, value: string): string | undefined {
  if (name === "agent_id" && !AGENT_ID.test(value))
    return `is "${value}", but an agent's id is agt_ and 1 to 60 letters and digits.`;
  if (name === "owner" && !MemberEmail.safeParse(value).success)
    return `is "${value}", which is not an e-mail address.`;
  if (name === "owner_password" && !MemberPassword.safeParse(value).success)
    return `has ${value.length} characters, but a password has 12 to 200.`;
  if (!isSecret(name) || isWellFormed(KINDS[name], value)) return undefined;
  const kind = KINDS[name];
  return `is not ${WORDS[kind]}. \`patchbay generate ${COMMANDS[kind]}\` prints a new one.`;
}

const isSecret = (name: FirstStartName): name is keyof typeof KINDS => Object.hasOwn(KINDS, name);

async function isSame(name: FirstStartName, value: string, recorded: string): Promise<boolean> {
  if (name === "owner_password") return createPasswords().verify(value, recorded, CLIENT);
  return (isSecret(name) ? hashSecret(value) : value) === recorded;
}

const differs = (name: FirstStartName): AdminError =>
  new AdminError(
    `${OPTIONS[name].variable} differs from the value at the first start, and is used only there. Set the earlier value, or remove the variable and change what is stored with the console, the API or \`patchbay\`.`,
    "conflict",
  );

const contradicts = (name: FirstStartName, why: string): AdminError =>
  new AdminError(`${OPTIONS[name].variable} does not agree with the database: ${why}`, "conflict");

interface Planning {
  missing: Wanted;
  wanted: Wanted;
  recorded: Partial<Record<FirstStartName, FirstStartValue>>;
}

/** The additions for the missing values. Those already in the database, by name or secret, are only recorded. */
async function planOf(store: Store, { missing, wanted, recorded }: Planning): Promise<FirstStartPlan> {
  const org = recorded.organisation
    ? { orgId: recorded.organisation.orgId, isNew: false }
    : await orgNamed(store, wanted.organisation ?? "");
  const { orgId } = org;
  const plan: FirstStartPlan = { orgId, values: { ...missing }, credentials: [], audit: [] };
  if (org.isNew) {
    plan.org = { orgId, name: wanted.organisation ?? "", tier: TIER };
    plan.audit.push({ orgId, action: "org.created", detail: { tier: TIER } });
  }
  const agentId = wanted.agent === undefined ? undefined : await planAgent(store, plan, { wanted, recorded });
  for (const name of ["api_key", "runtime_key"] as const)
    if (missing[name] !== undefined && agentId !== undefined)
      await planKey(store, plan, { name, secret: missing[name], agentId });
  if (missing.owner !== undefined && missing.owner_password !== undefined)
    await planOwner(store, plan, { email: missing.owner, password: missing.owner_password });
  if (missing.service_token !== undefined) await planToken(store, plan, missing.service_token);
  return plan;
}

async function orgNamed({ accounts }: Store, name: string): Promise<{ orgId: string; isNew: boolean }> {
  const orgs = await accounts.listOrgs();
  const [same, ...others] = orgs.filter((org) => org.name === name);
  if (others.length > 0) throw contradicts("organisation", `${others.length + 1} organisations have the name ${name}.`);
  if (same) return { orgId: same.orgId, isNew: false };
  if (orgs.length > 0)
    throw contradicts("organisation", `it has the organisation ${orgs[0]!.name}, and none with the name ${name}.`);
  return { orgId: `org_${randomBase62(22)}`, isNew: true };
}

/** Returns the agent's id, which is recorded too: later starts may add keys to it. */
async function planAgent(
  { accounts }: Store,
  plan: FirstStartPlan,
  { wanted, recorded }: Omit<Planning, "missing">,
): Promise<string> {
  const { orgId } = plan;
  const known = recorded.agent_id?.value;
  if (known !== undefined) {
    if (await accounts.getAgent(known)) return known;
    throw contradicts(
      "agent",
      `the agent ${known} was deleted, and a key for it is wanted. Remove the variable of the key.`,
    );
  }
  const name = wanted.agent ?? "";
  const [same, ...others] = (await accounts.listAgents(orgId)).filter((agent) => agent.name === name);
  const asked = wanted.agent_id;
  if (asked === undefined && others.length > 0)
    throw contradicts("agent", `${others.length + 1} agents have the name ${name}. Set ${OPTIONS.agent_id.variable}.`);
  const existing = asked === undefined ? same : await accounts.getAgent(asked);
  if (existing && (existing.orgId !== orgId || existing.name !== name))
    throw contradicts("agent_id", `${existing.agentId} is an agent with another name, or of another organisation.`);
  const agentId = existing?.agentId ?? asked ?? `agt_${randomBase62(22)}`;
  plan.values.agent_id = agentId;
  if (!existing) {
    plan.agent = { agentId, orgId, name, instructions: "" };
    plan.audit.push({ orgId, agentId, action: "agent.created" });
  }
  return agentId;
}

interface NewKey {
  name: "api_key" | "runtime_key";
  secret: string;
  agentId: string;
}

async function planKey(store: Store, plan: FirstStartPlan, { name, secret, agentId }: NewKey): Promise<void> {
  const kind = KINDS[name];
  const { orgId } = plan;
  const hash = hashSecret(secret);
  plan.values[name] = hash;
  const known = await store.firstStart.secretWith(hash);
  if (known && (known.kind !== kind || known.agentId !== agentId || !known.active))
    throw contradicts(name, "the key is of another agent, or it is revoked or expired.");
  if (known) return;
  const credentialId = `${kind === "api" ? "key" : "rtk"}_${randomBase62(22)}`;
  plan.credentials.push({ credentialId, kind, agentId, hash, hint: hintOf(kind, secret), label: LABEL });
  const action = kind === "api" ? "key.created" : "runtime_key.created";
  plan.audit.push({ orgId, agentId, action, keyId: credentialId });
}

async function planOwner(
  { members }: Store,
  plan: FirstStartPlan,
  { email, password }: { email: string; password: string },
): Promise<void> {
  const { orgId } = plan;
  const passwords = createPasswords();
  const known = await members.byEmail(email);
  if (known) {
    const isOwner = known.orgId === orgId && known.role === "owner";
    if (!isOwner || !(await passwords.verify(password, known.passwordHash, CLIENT)))
      throw contradicts("owner", `${email} is a member with another role, password or organisation.`);
    plan.values.owner_password = known.passwordHash ?? "";
    return;
  }
  const passwordHash = await passwords.hash(password, CLIENT);
  plan.values.owner_password = passwordHash;
  const memberId = newMemberId();
  plan.member = { memberId, orgId, email, name: email.slice(0, email.indexOf("@")), role: "owner", passwordHash };
  plan.audit.push({ orgId, action: "member.joined", keyId: memberId });
}

async function planToken(store: Store, plan: FirstStartPlan, secret: string): Promise<void> {
  const { orgId } = plan;
  const hash = hashSecret(secret);
  plan.values.service_token = hash;
  const known = await store.firstStart.secretWith(hash);
  if (known && (known.orgId !== orgId || !known.active))
    throw contradicts("service_token", "the token is of another organisation, or it is revoked or expired.");
  if (known) return;
  const tokenId = `svt_${randomBase62(22)}`;
  const scopes = [...SERVICE_SCOPES];
  plan.serviceToken = { tokenId, orgId, hash, hint: hintOf("service", secret), scopes, label: LABEL };
  plan.audit.push({ orgId, action: "service_token.created", detail: { tokenId, scopes } });
}
