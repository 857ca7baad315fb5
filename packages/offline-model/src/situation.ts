import type { ModelRequest, PlanTexts } from "./model.ts";
import { decide, type Outcome } from "./agenda.ts";
import { splitClauses } from "./clauses.ts";
import { type Conversation, type MadeCall, objectsIn, readConversation } from "./conversation.ts";
import { type Fact, factsOf } from "./facts.ts";
import type { Sources } from "./fill.ts";
import { type FunctionSet, readFunctions } from "./function-set.ts";
import { contentWords, readText } from "./reading.ts";
import type { Word } from "./words.ts";

/** Everything that one turn depends on. */
export interface Situation {
  conversation: Conversation;
  set: FunctionSet;
  outcomes: Outcome[];
}

const POINTS_BACK = /\b(?:it|its|that|those|these|this|them|they|their|his|her|him|the same|again)\b/iu;
const GOES_ON = /^(?:and|also|what about|how about|then)\b/iu;

/** Reads a request and decides the next step for each part of the query. */
export function readSituation(request: Pick<ModelRequest, "functions" | "messages">, plan: PlanTexts): Situation {
  const set = readFunctions(request.functions);
  const conversation = readConversation(request.messages, plan);
  const outcomes = decideAll(conversation, set);
  const [earlier, ...older] = conversation.earlierQueries;
  if (earlier === undefined || !conversation.wasAsked || outcomes.some(isRequest))
    return { conversation, set, outcomes };
  // No request of its own after an answer that called nothing: it supplies what that answer asked for.
  const joined = {
    ...conversation,
    query: `${earlier.replace(/[\s.!?]+$/u, "")}. ${conversation.query}`,
    earlierQueries: older,
  };
  const supplied = decideAll(joined, set);
  return supplied.some(({ choice }) => choice)
    ? { conversation: joined, set, outcomes: supplied }
    : { conversation, set, outcomes };
}

const isRequest = ({ choice, clause }: Outcome) => choice !== undefined && clause.mood !== "statement";

function decideAll(conversation: Conversation, set: FunctionSet): Outcome[] {
  const query = readText(conversation.query, set);
  const history = conversation.earlierQueries.map((text) => readText(text.slice(0, 4000), set));
  const goesOn = history.length > 0 && (POINTS_BACK.test(conversation.query) || GOES_ON.test(conversation.query));
  const read = new Map<MadeCall, Fact[]>();
  const factsFrom = (call: MadeCall): Fact[] => {
    const facts = read.get(call) ?? (call.data === undefined ? [] : factsOf(call.data, subjectOf(call.name, set)));
    read.set(call, facts);
    return facts;
  };
  const common: Omit<Sources, "clause"> = {
    set,
    query,
    history,
    context: objectsIn(conversation.preface).flatMap((data) => factsOf(data, [])),
    earlier: conversation.earlierCalls.flatMap((call) => factsOf(call.arguments, [])),
    results: conversation.made.flatMap((call) => factsFrom(call)),
    factsFrom,
    asked: new Set(query.words.map((word) => word.concept)),
    pointsBack: goesOn,
  };
  const hints: Word[] = goesOn ? history.slice(0, 2).flatMap(contentWords) : [];
  return splitClauses(conversation.query, set).flatMap((clause) => {
    const reading = clause.text === conversation.query ? query : readText(clause.text, set);
    return decide(clause, { ...common, clause: reading }, conversation.made, hints);
  });
}

/** What a function's result is about when the result does not say: `find_user_id_by_email` returns a user. */
function subjectOf(name: string, set: FunctionSet): string[] {
  const fn = set.functions.find((one) => one.name === name);
  return fn ? [...fn.objects].filter((concept) => concept !== "id") : [];
}
