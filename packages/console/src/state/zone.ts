import { storedChoice } from "./stored.ts";

/** Whether times are shown as on the person's clock or in UTC. */
export const zone = storedChoice("zone", ["local", "utc"]);
