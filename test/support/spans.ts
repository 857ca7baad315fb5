import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

/** Registers an OpenTelemetry provider that keeps the spans of this process, until it is disposed. */
export function keepSpans() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  return {
    get spans(): ReadableSpan[] {
      return exporter.getFinishedSpans();
    },
    reset: () => exporter.reset(),
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}

/** Each span as the names from the root of its trace to it, in the order of their ends. */
export function pathsOf(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const pathOf = (span: ReadableSpan): string => {
    const above = byId.get(span.parentSpanContext?.spanId ?? "");
    return above ? `${pathOf(above)} > ${span.name}` : span.name;
  };
  return spans.map(pathOf);
}
