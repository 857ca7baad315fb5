import { mail } from "./mail.ts";

export const SUITES = [mail];
