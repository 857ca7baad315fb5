export { silentLog, type Log, type LogFields } from "@patchbay/kit";
