import { ENGINE_SCENARIOS } from "./engine-scenarios.ts";
import { PRODUCT_SCENARIOS } from "./product-scenarios.ts";

/** Short runs in which a model follows a stranger. Each returns true if it reached the attacker's target without a person. */
export const SCENARIOS: Record<string, () => Promise<boolean>> = { ...ENGINE_SCENARIOS, ...PRODUCT_SCENARIOS };
