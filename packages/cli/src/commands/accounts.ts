import type { Command } from "commander";
import { examples, option, orgOption, tiersOption } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

/** `orgs` and `credits`. */
export function addAccountCommands(program: Command): void {
  addOrgs(program);
  addCredits(program);
}

function addOrgs(program: Command): void {
  const orgs = program.command("orgs").description("organisations: who pays, and how many queries they may ask");
  const create = adminCommand(orgs, "create <name>", "make an organisation")
    .addOption(option("--tier <tier>", "sandbox, starter, growth or scale").default("sandbox"))
    .addOption(tiersOption())
    .action((name: string, options: AdminOptions & { tier: string }) =>
      administer(
        options,
        (admin) => admin.createOrg(name, options.tier),
        ({ orgId, tier }) =>
          fields([
            ["organisation", orgId],
            ["tier", tier],
          ]),
        { mayCreate: true },
      ),
    );
  examples(create, "patchbay orgs create Acme --tier growth", "patchbay credits grant --org org_... 50");
  adminCommand(orgs, "list", "list the organisations").action((options: AdminOptions) =>
    administer(
      options,
      async (admin) => ({ items: await admin.listOrgs() }),
      ({ items }) =>
        table(
          ["id", "name", "tier"],
          items.map((org) => [org.orgId, org.name, org.tier]),
          "No organisations yet. Make one with `patchbay orgs create NAME`.",
        ),
    ),
  );
}

function addCredits(program: Command): void {
  const credits = program
    .command("credits")
    .description("credits: what organisations outside the sandbox tier pay with");
  const show = ({ orgId, balanceUsd }: { orgId: string; balanceUsd: number }) =>
    fields([
      ["organisation", orgId],
      ["balance", `${balanceUsd} USD`],
    ]);
  const grant = adminCommand(credits, "grant <amount-usd>", "add to an organisation's balance")
    .addOption(orgOption().makeOptionMandatory())
    .action((amount: string, options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.grant(options.org, amount), show),
    );
  examples(grant, "patchbay credits grant --org org_... 12.50");
  adminCommand(credits, "show", "show an organisation's balance")
    .addOption(orgOption().makeOptionMandatory())
    .action((options: AdminOptions & { org: string }) =>
      administer(options, (admin) => admin.showCredits(options.org), show),
    );
}
