import { connect, silentLog } from "@patchbay/functions";
import service from "./service.ts";

/** The runtime of this repository as a program that the kit starts. */
const { PATCHBAY_URL: url = "", PATCHBAY_RUNTIME_KEY: key = "" } = process.env;
const connection = connect(service, { url, key, log: silentLog });
process.once("SIGTERM", () => void connection.stop());
