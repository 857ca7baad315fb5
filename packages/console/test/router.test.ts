import { expect, test } from "vitest";
import { PAGES } from "@patchbay/test-support/console-pages";
import { pageCode, router } from "../src/router.tsx";

test("every page of the router is in the list that the browser tests check", () => {
  const routes = Object.keys(router.routesByPath).filter((path) => path !== "/"); // it redirects to /agents
  expect(routes.toSorted()).toEqual(Object.values(PAGES).toSorted());
});

const gone = new TypeError("Failed to fetch dynamically imported module: /console/assets/runs-page.js");
const failing = () => Promise.reject(gone);

test("code that a newer version has replaced fails with the error of the browser, so that the router reloads the document", async () => {
  const ask = async () => new Response("<!doctype html>");

  await expect(pageCode(failing, ask)).rejects.toBe(gone);
});

test.each([
  ["does not answer", () => Promise.reject(new TypeError("fetch failed"))],
  ["is behind a proxy that answers 502", async () => new Response("", { status: 502 })],
])("code that cannot be loaded while the control plane %s fails as unreachable", async (_, ask) => {
  await expect(pageCode(failing, ask)).rejects.toMatchObject({ code: "unreachable", cause: gone });
});
