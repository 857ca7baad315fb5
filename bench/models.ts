/** Models of the stand-in provider. Each calls one function first, then writes its tokens. */
export const MODELS = {
  /** 20 tokens without pauses. */
  short: "stand-in-20",
  /** 100 tokens without pauses. */
  long: "stand-in-100",
  /** 100 tokens, one every 20 ms. */
  paced: "stand-in-100-paced",
} as const;

export type Model = keyof typeof MODELS;

export const TOKENS: Record<Model, number> = { short: 20, long: 100, paced: 100 };
export const PACE_MS = 20;

/** The function of every measured system, and the arguments of its calls. */
export const FUNCTION = "look_up_order";
export const FUNCTION_TEXT = "Looks up one order: its status, its items and where it is.";
export const ARGUMENTS = { orderId: "#W7866789" };
export const QUERY = "Where is order #W7866789 and when will it arrive?";

/** The result of the function: about 200 bytes of JSON. */
export const orderOf = (orderId: string) => ({
  orderId,
  status: "in transit",
  carrier: "Northern Parcel",
  items: ["desk lamp, brass, 40 W", "bulb, warm white"],
  expected: "2026-11-24",
  lastSeen: "Hamburg, 2026-11-21 04:12",
});
