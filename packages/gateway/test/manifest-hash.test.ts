import { expect, test } from "vitest";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { hashManifest } from "../src/routing/manifest-hash.ts";

test("two processes of a deployment have one function set, whatever their cases decide", () => {
  const manifest = fakeManifest(["echo"]);
  const [echo] = manifest.functions;
  const decides = (verdict: string) => ({
    ...manifest,
    functions: [{ ...echo!, cases: [{ name: "own", verdicts: { agent: verdict } }] }],
  });

  expect(hashManifest(decides("allowed"))).toBe(hashManifest(decides("denied")));
  expect(hashManifest(decides("allowed"))).toBe(hashManifest(manifest));
  expect(hashManifest({ ...manifest, functions: [{ ...echo!, effect: "read" }] })).not.toBe(hashManifest(manifest));
});
