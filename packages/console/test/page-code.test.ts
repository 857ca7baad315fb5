import { expect, test } from "vitest";
import { pageCode } from "../src/page-code.ts";

const gone = new TypeError("Failed to fetch dynamically imported module: /console/assets/runs-page.js");
const failing = () => Promise.reject(gone);

test("a page's code that a newer version no longer has fails as the browser says, so that the router loads the document anew", async () => {
  const ask = async () => new Response("<!doctype html>");

  await expect(pageCode(failing, ask)).rejects.toBe(gone);
});

test.each([
  ["does not answer", () => Promise.reject(new TypeError("fetch failed"))],
  ["is behind a proxy that waits for it", async () => new Response("", { status: 502 })],
])("a page's code that cannot be fetched while the service %s fails as unreachable", async (_, ask) => {
  await expect(pageCode(failing, ask)).rejects.toMatchObject({ code: "unreachable", cause: gone });
});
