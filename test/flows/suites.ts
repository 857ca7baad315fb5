import { bank } from "./bank.ts";
import { chat } from "./chat.ts";
import { mail } from "./mail.ts";
import { travel } from "./travel.ts";

export const SUITES = [mail, bank, travel, chat];
