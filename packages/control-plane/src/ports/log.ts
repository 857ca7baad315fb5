export { silentLog, type Log, type LogFields } from "@patchbay/protocol";
