import { context, type Link, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import type { Tracing } from "../ports/tracing.ts";
import { SegmentSpan } from "./segment.ts";
import { spanContextOf } from "./trace-context.ts";

/** How spans are made. */
export interface TracingOptions {
  /** Records queries, answers, messages, arguments and results in spans, each cut at 8 KiB. Default false. */
  content?: boolean;
  /**
   * `continue`: a run's spans join the client's trace, and the client decides about sampling. `link`: each query begins
   * a new trace, which the configured sampler samples, with a link to the client's span. Default `continue`.
   */
  clients?: "continue" | "link";
}

/** Makes the spans for runs, with the provider registered now. */
export function createTracing({ content = false, clients = "continue" }: TracingOptions): Tracing {
  const tracer = trace.getTracer("patchbay");
  return {
    begin(agentId, given) {
      const active = context.active();
      const client = given && spanContextOf(given);
      // HTTP server instrumentation has read the client's headers and made a span between the two.
      const isActive = trace.getSpanContext(active) !== undefined;
      const isParent = client !== undefined && !isActive && clients === "continue";
      const parent = isParent ? trace.setSpanContext(active, client) : active;
      const links = client && !isActive && !isParent ? [{ context: client }] : [];
      return new SegmentSpan({ tracer, parent, links, agentId, number: 1, content });
    },

    resume(run) {
      const { parent, segment, agentName } = run.trace ?? {};
      const client = parent && spanContextOf(parent);
      const before = segment && spanContextOf(segment);
      const links: Link[] = before ? [{ context: before }] : [];
      const resumed = new SegmentSpan({
        tracer,
        parent: client ? trace.setSpanContext(ROOT_CONTEXT, client) : ROOT_CONTEXT,
        links,
        agentId: run.agentId,
        number: run.fence,
        content,
      });
      if (agentName !== undefined) resumed.named(agentName);
      resumed.accepted(run);
      return resumed;
    },
  };
}
