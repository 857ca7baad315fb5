import * as fc from "@patchbay/test-support/properties";
import { expect, test } from "vitest";
import { generateSecret, hashSecret, hintOf, isWellFormed } from "../../src/accounts/secret.ts";

const KINDS = ["api", "runtime", "access"] as const;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const kind = fc.constantFrom(...KINDS);

test("a secret has a prefix, 30 base62 characters and a checksum of 6", () => {
  expect(generateSecret("api")).toMatch(/^service_live_[0-9A-Za-z]{36}$/);
  expect(generateSecret("runtime")).toMatch(/^patchbay_rt_[0-9A-Za-z]{36}$/);
  expect(generateSecret("access")).toMatch(/^patchbay_at_[0-9A-Za-z]{36}$/);
});

test("the checksum never changes: keys of earlier releases stay valid", () => {
  const body = "0123456789ABCDEFGHIJKLMNOPQRST";

  expect(isWellFormed("api", `service_live_${body}07GVwQ`)).toBe(true);
});

test("a secret is well formed as its own kind only", () => {
  fc.assert(
    fc.property(kind, kind, (made, asked) => {
      expect(isWellFormed(asked, generateSecret(made))).toBe(made === asked);
    }),
  );
});

test("a changed character is noticed", () => {
  fc.assert(
    fc.property(kind, fc.nat(), fc.constantFrom(...ALPHABET.split("")), (kind, place, character) => {
      const secret = generateSecret(kind);
      const at = place % secret.length;
      const changed = secret.slice(0, at) + character + secret.slice(at + 1);
      expect(isWellFormed(kind, changed)).toBe(changed === secret);
    }),
  );
});

test("two swapped neighbours are noticed", () => {
  fc.assert(
    fc.property(kind, fc.nat({ max: 34 }), (kind, place) => {
      const secret = generateSecret(kind);
      const at = secret.length - 36 + place;
      const swapped = secret.slice(0, at) + secret.charAt(at + 1) + secret.charAt(at) + secret.slice(at + 2);
      expect(isWellFormed(kind, swapped)).toBe(swapped === secret);
    }),
  );
});

test("no other text is well formed", () => {
  fc.assert(
    fc.property(kind, fc.string(), (kind, text) => {
      expect(isWellFormed(kind, text)).toBe(false);
      expect(isWellFormed(kind, generateSecret(kind) + text)).toBe(text === "");
    }),
  );
});

test("secrets do not repeat and use the whole alphabet evenly", () => {
  const bodies = Array.from({ length: 3000 }, () => generateSecret("api").slice(13, 43));
  const counts = new Map<string, number>();
  for (const character of bodies.join("")) counts.set(character, (counts.get(character) ?? 0) + 1);

  expect(new Set(bodies).size).toBe(3000);
  expect(counts.size).toBe(62);
  const expected = (3000 * 30) / 62; // 1452, standard deviation 38
  for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(8 * 38);
});

test("the hash is SHA-256 and the hint shows eight characters", () => {
  const secret = `service_live_abcd${"0".repeat(22)}wxyz123456`;

  expect(hashSecret("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(hintOf("api", secret)).toBe("abcd…wxyz");
});
