import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { startIssuer } from "@patchbay/test-support/issuer";

type Json = Record<string, unknown>;
/** Texts are sent as they are: for JSON that no JavaScript object produces. */
type Part = Json | string | readonly unknown[] | null;
type Pair = Record<"publicKey" | "privateKey", KeyObject>;

const rsaPair = (modulusLength = 2_048): Pair => generateKeyPairSync("rsa", { modulusLength });
const base64 = (part: Part) =>
  Buffer.from(typeof part === "string" ? part : JSON.stringify(part)).toString("base64url");
const soon = () => Math.floor(Date.now() / 1_000);

/** Signs whatever it is given, by the algorithm and not by the header. */
export function signed(header: Part, payload: Part, key: KeyObject | string | Buffer, alg: string): string {
  const input = `${base64(header)}.${base64(payload)}`;
  const hash = `sha${alg.slice(2)}`;
  const signature = () => {
    if (alg.startsWith("HS")) return createHmac(hash, key).update(input).digest();
    const pair = { key: key as KeyObject };
    if (alg === "EdDSA") return sign(null, Buffer.from(input), pair);
    if (alg.startsWith("ES")) return sign(hash, Buffer.from(input), { ...pair, dsaEncoding: "ieee-p1363" });
    // 6 is RSA_PKCS1_PSS_PADDING.
    return sign(hash, Buffer.from(input), alg.startsWith("PS") ? { ...pair, padding: 6 } : pair);
  };
  return `${input}.${alg === "none" ? "" : signature().toString("base64url")}`;
}

export const jwkOf = ({ publicKey }: Pair, kid: string | undefined, more: Json = {}) => ({
  ...publicKey.export({ format: "jwk" }),
  ...(kid !== undefined && { kid }),
  use: "sig",
  ...more,
});

/** An issuer with a key of each algorithm, and the keys of an attacker. */
export async function startAttackedIssuer() {
  const issuer = await startIssuer();
  issuer.withdraw("first");
  const keys = {
    rsa: rsaPair(),
    other: rsaPair(),
    small: rsaPair(1_024),
    ec: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ec384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
    ed: generateKeyPairSync("ed25519"),
  };
  const published = jwkOf(keys.rsa, "r1", { alg: "RS256" });
  issuer.publish(published);
  issuer.publish(jwkOf(keys.ec, "e1", { alg: "ES256" }));
  issuer.publish(jwkOf(keys.ed, "d1", { alg: "EdDSA" }));
  const claims = (more: Json = {}): Json => ({ ...issuer.claims(), role: "clerk", ...more });
  return {
    ...issuer,
    keys,
    published,
    claims,
    /** A token with the issuer's signature. */
    good: (payload: Part = claims(), header: Json = {}) =>
      signed({ alg: "RS256", kid: "r1", typ: "JWT", ...header }, payload, keys.rsa.privateKey, "RS256"),
    /** A token with the attacker's signature. */
    evil: (header: Json) =>
      signed({ alg: "RS256", ...header }, claims({ role: "manager" }), keys.other.privateKey, "RS256"),
  };
}

export type AttackedIssuer = Awaited<ReturnType<typeof startAttackedIssuer>>;

const unsigned = (header: Json) => (issuer: AttackedIssuer) =>
  signed(header, issuer.claims({ role: "manager" }), "", "none");
const byHmac = (secret: (issuer: AttackedIssuer) => string | Buffer, alg = "HS256") => {
  return (issuer: AttackedIssuer) =>
    signed({ alg, kid: "r1" }, issuer.claims({ role: "manager" }), secret(issuer), alg);
};
const byKey = (header: Json, key: keyof AttackedIssuer["keys"], alg = String(header["alg"])) => {
  return ({ claims, keys }: AttackedIssuer) => signed(header, claims({ role: "manager" }), keys[key].privateKey, alg);
};
const evil = (header: Json | ((issuer: AttackedIssuer) => Json)) => (issuer: AttackedIssuer) =>
  issuer.evil(typeof header === "function" ? header(issuer) : header);
const claiming = (more: Json | ((issuer: AttackedIssuer) => Json)) => (issuer: AttackedIssuer) =>
  issuer.good(issuer.claims({ role: "manager", ...(typeof more === "function" ? more(issuer) : more) }));
const partsOf = ({ good, claims }: AttackedIssuer) => good(claims({ role: "manager" })).split(".");
const pemOf = ({ keys }: AttackedIssuer) => keys.rsa.publicKey.export({ type: "spki", format: "pem" });
const derOf = ({ keys }: AttackedIssuer) => keys.rsa.publicKey.export({ type: "spki", format: "der" });
const zeros = (header: Json) => (issuer: AttackedIssuer) =>
  `${base64(header)}.${base64(issuer.claims({ role: "manager" }))}.${Buffer.alloc(64).toString("base64url")}`;

/** Tokens that prove nothing: what is wrong with them, and how to make them. */
export const FORGED: Readonly<Record<string, (issuer: AttackedIssuer) => string>> = {
  "no algorithm": unsigned({ alg: "none", kid: "r1" }),
  "the algorithm None": unsigned({ alg: "None", kid: "r1" }),
  "the algorithm nOnE": unsigned({ alg: "nOnE" }),
  "an empty algorithm": unsigned({ alg: "", kid: "r1" }),
  "a header without an algorithm": unsigned({ kid: "r1" }),
  "a null algorithm": unsigned({ alg: null, kid: "r1" }),
  "a list of algorithms": byKey({ alg: ["RS256"], kid: "r1" }, "other", "RS256"),

  "the public key as HMAC secret, in PEM": byHmac(pemOf),
  "the public key as HMAC secret, in trimmed PEM": byHmac((issuer) => pemOf(issuer).trim()),
  "the public key as HMAC secret, in DER": byHmac(derOf),
  "the modulus as HMAC secret": byHmac(({ published }) => Buffer.from(String(published["n"]), "base64url")),
  "the JWK as HMAC secret": byHmac(({ published }) => JSON.stringify(published)),
  "the public key as the secret of HS512": byHmac(pemOf, "HS512"),
  "an empty HMAC secret": byHmac(() => ""),

  "another key under the issuer's kid": evil({ kid: "r1" }),
  "its own jwk": evil(({ keys }) => ({ kid: "r1", jwk: keys.other.publicKey.export({ format: "jwk" }) })),
  "a jku": evil(({ url }) => ({ kid: "evil", jku: `${url}/loot` })),
  "an x5u": evil(({ url }) => ({ kid: "evil", x5u: `${url}/loot` })),
  "an x5c": evil((issuer) => ({ x5c: [derOf(issuer).toString("base64")] })),
  "a kid that is a path": evil({ kid: "../../../../dev/null" }),
  "a kid that is an address": evil(({ url }) => ({ kid: `${url}/loot` })),
  "a kid with SQL": evil({ kid: "' or 1=1 --" }),
  "a kid that is an object": evil({ kid: { a: 1 } }),
  "the kid __proto__": evil({ kid: "__proto__" }),
  "a kid of another algorithm": byKey({ alg: "ES256", kid: "r1" }, "ec"),
  RS384: byKey({ alg: "RS384", kid: "r1" }, "rsa"),
  RS512: byKey({ alg: "RS512", kid: "r1" }, "rsa"),
  PS256: byKey({ alg: "PS256", kid: "r1" }, "rsa"),
  ES384: byKey({ alg: "ES384", kid: "e1" }, "ec384"),
  "a zero signature of ES256": zeros({ alg: "ES256", kid: "e1" }),
  "a zero signature of EdDSA": zeros({ alg: "EdDSA", kid: "d1" }),
  "no signature": (issuer) => `${partsOf(issuer).slice(0, 2).join(".")}.`,
  "the signature of another token": (issuer) => [...partsOf(issuer).slice(0, 2), issuer.good().split(".")[2]].join("."),
  "a short signature": (issuer) => partsOf(issuer).join(".").slice(0, -4),
  "an unknown crit": ({ good }) => good(undefined, { crit: ["x"], x: 1 }),
  "an unencoded payload": ({ good }) => good(undefined, { b64: false, crit: ["b64"] }),
  "five parts": () => "a.b.c.d.e",
  "the JSON serialization": ({ claims }) =>
    JSON.stringify({ payload: base64(claims()), protected: base64({ alg: "RS256", kid: "r1" }), signature: "x" }),
  "another token behind a comma": ({ good, claims }) => `${good()}, ${good(claims({ role: "manager" }))}`,
  "a scheme": ({ good }) => `Bearer ${good()}`,
  "one letter": () => "x",
  "more than 8,192 characters": claiming({ note: "n".repeat(7_000) }),
  "a payload of plain text": ({ good }) => good("nope"),
  "a payload that is a list": ({ good }) => good([1]),
  "a null payload": ({ good }) => good(null),
  "two algorithms": ({ keys, claims }) =>
    signed('{"alg":"RS256","kid":"r1","alg":"none"}', claims({ role: "manager" }), keys.rsa.privateKey, "RS256"),

  "another issuer": claiming({ iss: "http://evil" }),
  "the issuer with a slash": claiming(({ url }) => ({ iss: `${url}/` })),
  "the issuer in capitals": claiming(({ url }) => ({ iss: url.toUpperCase() })),
  "a list of issuers": claiming(({ url }) => ({ iss: [url] })),
  "no issuer": claiming({ iss: undefined }),
  "another audience": claiming({ aud: "other" }),
  "an audience that begins like ours": claiming({ aud: "patchbay-admin" }),
  "the audience in capitals": claiming({ aud: "PATCHBAY" }),
  "an audience that is an object": claiming({ aud: { patchbay: 1 } }),
  "no audience": claiming({ aud: undefined }),
  "a list in the audience": claiming({ aud: [["patchbay"]] }),
  "only an authorized party": claiming({ aud: undefined, azp: "patchbay" }),
  "an end two minutes ago": claiming(() => ({ exp: soon() - 120 })),
  "no end": claiming({ exp: undefined }),
  "an end in words": claiming(() => ({ exp: String(soon() + 100) })),
  "an end in two days": claiming(() => ({ exp: soon() + 2 * 86_400 })),
  "an infinite end": ({ good, claims }) =>
    good(JSON.stringify(claims({ role: "manager" })).replace(/"exp":\d+/, '"exp":1e400')),
  "a negative end": claiming({ exp: -1 }),
  "a null end": claiming({ exp: null }),
  "a start in an hour": claiming(() => ({ nbf: soon() + 3_600 })),
  "a start in words": claiming({ nbf: "0" }),
  "no subject": claiming({ sub: undefined }),
  "an empty subject": claiming({ sub: "" }),
  "a number as subject": claiming({ sub: 1 }),
  "a long subject": claiming({ sub: "x".repeat(201) }),
  "a list as subject": claiming({ sub: ["ada"] }),
  "a role that is an object": claiming({ role: { manager: true } }),
  "a role in a list in a list": claiming({ role: [["manager"]] }),
  "a number as role": claiming({ role: 1 }),
  "true as role": claiming({ role: true }),
  "an empty role": claiming({ role: "" }),
  "an empty role besides another": claiming({ role: ["manager", ""] }),
  "101 roles": claiming({ role: Array.from({ length: 101 }, (_, i) => `r${i}`) }),
  "a long role": claiming({ role: "x".repeat(201) }),
};
