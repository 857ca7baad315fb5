/** Verbs that only look something up. Each line is one meaning; its first word represents all of them. */
const LOOKING = [
  "get show fetch view display retrieve give tell see describe inspect read print check know",
  "find search lookup look locate identify",
  "list enumerate all every",
];

/** Verbs that do something, by meaning. */
const DOING = [
  "cancel void annul abort",
  "modify change update edit alter adjust amend correct set",
  "exchange swap replace trade substitute",
  "return",
  "refund reimburse repay",
  "delete remove erase discard",
  "create add make register insert",
  "send notify submit",
  "buy purchase",
  "book reserve schedule arrange",
  "calculate compute evaluate math solve",
  "start run launch begin trigger execute",
  "stop halt terminate",
  "transfer escalate forward redirect handoff talk speak connect",
  "reset restore reload wipe clear",
  "approve accept confirm",
  "reject decline deny refuse",
  "close resolve complete finish",
  "open reopen",
  "think ponder reflect consider",
  "assign allocate",
  "move shift",
  "rename",
  "convert",
  "translate",
  "upload",
  "download export",
  "enable activate",
  "disable deactivate suspend pause",
  "apply",
  "invite",
  "share",
  "archive",
  "merge",
  "ship",
  "log",
];

/** Things that people name in more than one way. */
const THINGS = [
  "user customer client member shopper buyer",
  "email mail",
  "phone telephone mobile",
  "address live reside",
  "price cost amount total fee",
  "zip postcode postal",
  "product article",
  "status state",
  "detail info information record profile",
  "payment pay card paypal iban",
  "picture photo image",
  "event appointment meeting",
  "company organisation organization firm employer",
  "invoice bill",
  "task todo",
  "ticket case",
  "weather forecast",
  "type kind category",
  "human person representative operator",
  "employee staff worker colleague",
  "document file",
  "store shop",
  "parcel package",
  "quantity count",
  "variant option",
  "expression formula equation",
  "quote quotation",
];

/** Where nothing does the first, the second is what was meant: a meeting is scheduled by creating it. */
export const NEXT_OF_KIN: ReadonlyMap<string, string> = new Map(
  ["book", "buy", "open", "log"].map((verb) => [verb, "create"]),
);

/** Nouns that ask for an action if they replace the verb of a request. */
export const VERB_OF_NOUN: ReadonlyMap<string, string> = new Map([
  ["email", "send"],
  ["mail", "send"],
  ["message", "send"],
  ["new", "create"],
]);

const split = (lines: readonly string[]) => lines.map((line) => line.split(" "));
export const GROUPS = split([...LOOKING, ...DOING, ...THINGS]);
export const LOOKING_VERBS = split(LOOKING).map(([first]) => first ?? "");
export const DOING_VERBS = split(DOING).map(([first]) => first ?? "");

/** Words that say nothing about which function is meant. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a an the this that these those it its i me my mine we us our you your he him his she her hers they them their " +
    "is are was were be been being am do does did has have had can could would will shall should may might must " +
    "what which who whom whose where when why how there here and or but if then else so than as at by for from in into " +
    "of off on onto out over to up with without about because since until per via not no nor please kindly just also " +
    "too very much many any some each both hello hi hey ok okay thanks thank yes want need like wish let help s t d m re ve ll " +
    "now currently right don doesn didn isn same use using one"
  ).split(" "),
);
