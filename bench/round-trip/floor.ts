import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createHub } from "../floor/hub.ts";
import { launch } from "../process.ts";
import { argument, drive, report } from "./drive.ts";

/** Calls over the floor's WebSocket, without its server. */
const server = createServer();
const hub = createHub(server);
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;
const functions = launch(argument(0), [`ws://127.0.0.1:${port}/functions`]);
await hub.connected;
report(await drive((text) => hub.call("echo", { text }), functions.pid));
await functions[Symbol.asyncDispose]();
process.exit(0);
