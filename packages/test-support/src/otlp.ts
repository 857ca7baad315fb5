import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as OTLP/HTTP with JSON carries it. */
export interface SentSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  links?: { traceId: string; spanId: string }[];
  attributes: Record<string, unknown>;
  /** `service.name` of the process that sent it. */
  service: string;
}

type Attributes = { key: string; value: Record<string, unknown> }[];
interface Body {
  resourceSpans: {
    resource: { attributes: Attributes };
    scopeSpans: { spans: (Omit<SentSpan, "attributes"> & { attributes: Attributes })[] }[];
  }[];
}

const valuesOf = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Receives spans over OTLP/HTTP with JSON. */
export async function startOtlpReceiver() {
  const spans: SentSpan[] = [];
  const credentials = new Set<string | undefined>();
  const server = createServer((request, response) => {
    credentials.add(request.headers.authorization);
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as Body;
      for (const { resource, scopeSpans } of resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            attributes: valuesOf(span.attributes),
            service: String(valuesOf(resource.attributes)["service.name"]),
          });
      response.setHeader("Content-Type", "application/json").end("{}");
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    spans,
    /** The `Authorization` headers of all requests. */
    credentials,
    /** Variables of a process that sends its spans here, as soon as they have ended. */
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "1",
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
