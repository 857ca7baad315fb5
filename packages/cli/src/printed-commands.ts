import { CALLER } from "@patchbay/protocol";
import { type DatabaseOptions, withoutPassword } from "./database.ts";

/** An argument as a shell reads it back. */
const shellQuote = (text: string): string =>
  /^[A-Za-z0-9_./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

interface Target {
  url: string;
  agent: string;
}

const optionsOf = ({ url, agent }: Target): string => `--url ${shellQuote(url)} --agent ${shellQuote(agent)}`;

/** The command that connects functions to an agent. */
export const connectCommand = (target: Target): string =>
  `PATCHBAY_RUNTIME_KEY=... patchbay connect service.ts ${optionsOf(target)}`;

/** The command that queries an agent. */
export const queryCommand = (target: Target): string =>
  `PATCHBAY_API_KEY=... patchbay query "What can you do?" ${optionsOf(target)}`;

/** The ways to decide an approval: on the server, and with a key. */
export function decisionCommands(
  { approvalId, by }: { approvalId: string; by: readonly string[] },
  { url, agent }: Target,
): string {
  const role = by.find((name) => name !== CALLER) ?? "ROLE";
  const path = `${url}/agents/${agent}/approvals/${approvalId}/decision`;
  return [
    `On the server: patchbay approvals approve ${shellQuote(approvalId)} --as ${shellQuote(role)} (or reject)`,
    `With a key that may approve: curl ${shellQuote(path)} -H "X-API-Key: $APPROVER_KEY" -H "Content-Type: application/json" -d ${shellQuote(JSON.stringify({ approved: true, as: role }))}`,
  ].join("\n");
}

/** `patchbay COMMAND` with the options that name the present command's database, so that it finds the same one. */
export function adminCommandLine(command: string, { database, dataDir }: DatabaseOptions): string {
  const given = database === undefined ? "" : ` --database ${databaseArgument(database)}`;
  const folder = database === undefined && dataDir !== ".patchbay" ? ` --data-dir ${shellQuote(dataDir)}` : "";
  return `patchbay ${command}${given}${folder}`;
}

/** A password does not belong into the output: the variable has it. */
const databaseArgument = (url: string): string =>
  withoutPassword(url) === url ? shellQuote(url) : '"$PATCHBAY_DATABASE"';
