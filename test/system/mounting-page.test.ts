import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectMounted, programFolder, sectionOf } from "../support/mounted-page.ts";

/** The packages of Next.js have 300 MB: `test/packages/mounted-next.test.ts` runs its section. */
const FRAMEWORKS = ["Express", "Fastify", "Hono", "NestJS"];

/** A module with one route, in calls instead of decorators, which Node.js does not run. */
const NEST = `
import "reflect-metadata";
import { Controller, Get, Module } from "@nestjs/common";

class Shop {
  home() {
    return "The shop";
  }
}
Get()(Shop.prototype, "home", Object.getOwnPropertyDescriptor(Shop.prototype, "home"));
Controller()(Shop);
export class AppModule {}
Module({ controllers: [Shop] })(AppModule);
`;

const folder = programFolder((path) => writeFile(join(path, "app.module.js"), NEST));

test.each([...FRAMEWORKS, "Next.js with a custom server"])("the program for %s has at most 20 lines", (heading) => {
  expect(sectionOf(heading).trimEnd().split("\n").length).toBeLessThanOrEqual(20);
});

test.each(FRAMEWORKS)("a control plane in %s answers clients and runtimes below its prefix", async (heading) => {
  await expectMounted(folder, heading);
});
