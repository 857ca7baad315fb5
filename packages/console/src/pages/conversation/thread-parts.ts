import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { infiniteQueryOptions } from "@tanstack/react-query";
import { api } from "../../api/api.ts";
import { keyOf } from "../../api/queries.ts";

const PATH = "/agents/:agent_id/threads/:thread_id";

/** A thread for `useInfiniteQuery`: its newest queries, and earlier ones with each further part. */
export function threadParts(agentId: string, threadId: string) {
  const params = { agent_id: agentId, thread_id: threadId };
  return infiniteQueryOptions({
    queryKey: ["list", ...keyOf(PATH, { params })],
    queryFn: ({ signal, pageParam: cursor }) => api.get(PATH, { params, query: { cursor }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => joined(pages),
  });
}

/** The parts as one thread, oldest query first. */
export function joined(parts: readonly ConsoleThreadDetail[]): ConsoleThreadDetail | undefined {
  const [newest] = parts;
  const oldestFirst = parts.toReversed();
  return (
    newest && {
      ...newest,
      messages: oldestFirst.flatMap(({ messages }) => messages),
      runs: oldestFirst.flatMap(({ runs }) => runs),
    }
  );
}
