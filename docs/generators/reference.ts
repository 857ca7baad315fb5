import { readFileSync } from "node:fs";
import { cliSections } from "./cli.ts";
import { codeSections } from "./codes.ts";
import { limitSections, variableSections } from "./configuration.ts";
import { httpSections, openApiDocument } from "./http.ts";
import { metricSections } from "./metrics.ts";
import { optionSections } from "./options.ts";
import { entriesIn, isInformative, type Section } from "./section.ts";
import { wireSections } from "./wire.ts";

const { version } = JSON.parse(
  readFileSync(new URL("../../packages/control-plane/package.json", import.meta.url), "utf8"),
) as { version: string };

/** The generated part of each page of docs/reference, by the name of the page. */
export function reference(): Record<string, Section[]> {
  return {
    "define-function": optionSections("define-function"),
    "define-service": optionSections("define-service"),
    connect: optionSections("connect"),
    openapi: optionSections("openapi"),
    cli: cliSections(),
    configuration: variableSections(),
    limits: limitSections(),
    http: httpSections(openApiDocument(version)),
    wire: wireSections(),
    codes: codeSections(),
    metrics: metricSections(),
  };
}

/** Entries whose description is missing or only repeats the name. The description belongs to the source of the entry. */
export function undescribed(pages: Readonly<Record<string, readonly Section[]>>): string[] {
  return Object.entries(pages).flatMap(([page, sections]) =>
    entriesIn(sections)
      .filter(([, entry]) => !isInformative(entry))
      .map(([place, { description }]) => `${page}: ${place}: ${description === "" ? "no description" : description}`),
  );
}
