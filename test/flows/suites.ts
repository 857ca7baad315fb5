import { bank } from "./bank.ts";
import { mail } from "./mail.ts";

export const SUITES = [mail, bank];
