import { DEFAULT_LIMITS } from "@patchbay/protocol";
import { queryDocument } from "@patchbay/server/query/openapi";
import { ROUTES } from "@patchbay/server/query/routes";
import { type JsonSchema, schemaSections, typeOf } from "./schemas.ts";
import type { Section } from "./section.ts";

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: JsonSchema;
}

type Content = Record<string, { schema: JsonSchema }>;

interface Operation {
  summary: string;
  description?: string;
  security: Record<string, unknown>[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
}

const SECRETS: Record<string, string> = {
  apiKey: "`X-API-Key: KEY`, an API key of the agent",
  accessToken: "`Authorization: Bearer TOKEN`, an access token",
  runtimeKey: "`Authorization: Bearer KEY`, a runtime key",
};

/** The document that `GET /openapi.json` serves, with the default limits. */
export function openApiDocument(version: string): Document {
  const serverUrl = "http://127.0.0.1:8787";
  return queryDocument({ version, serverUrl, routes: ROUTES, limits: DEFAULT_LIMITS }) as unknown as Document;
}

export function httpSections({ paths, components }: Document): Section[] {
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      routeSection(`\`${method.toUpperCase()} ${path}\``, operation),
    ),
  );
  const schemas = Object.entries(components.schemas).map(([name, schema]): Section => {
    const inner = schemaSections(schema);
    const text = schema.description ?? "";
    return inner.length === 1 && inner[0]!.heading === undefined
      ? { ...inner[0]!, heading: name, text }
      : { heading: name, text, entries: [], sections: inner };
  });
  return [
    { heading: "Routes", entries: [], sections: routes },
    { heading: "Bodies and events", entries: [], sections: schemas },
  ];
}

function routeSection(heading: string, operation: Operation): Section {
  const { summary, description, security, parameters = [], requestBody, responses } = operation;
  const secret = security.flatMap((one) => Object.keys(one)).map((name) => SECRETS[name]!);
  const body = requestBody && typeOf(Object.values(requestBody.content)[0]!.schema);
  return {
    heading,
    text: [
      `${summary}.${description ? ` ${description}` : ""}`,
      secret.length > 0 ? `Key: ${secret.join(" or ")}.` : "No key.",
      ...(body ? [`Body: ${body}.`] : []),
    ].join(" "),
    columns: ["parameter", "type", "meaning"],
    entries: parameters.map((one) => ({
      name: `\`${one.name}\``,
      facts: [one.in, typeOf(one.schema), ...(one.required ? [] : ["optional"])].join(", "),
      description: one.description ?? "",
    })),
    sections: [
      {
        columns: ["status", "body", "meaning"],
        entries: Object.entries(responses).map(([status, { description, content = {} }]) => ({
          name: status,
          facts: Object.entries(content)
            .map(([type, { schema }]) =>
              type === "application/json" ? typeOf(schema) : `\`${type}\` of ${typeOf(schema)}`,
            )
            .join(", "),
          description,
        })),
      },
    ],
  };
}
