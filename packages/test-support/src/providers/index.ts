export { COMPATIBLE_SERVERS, type CompatibleServerName } from "./compatible-servers.ts";
export { promptOf } from "./prompt-cache.ts";
export {
  callThenAnswer,
  scriptFor,
  WIRES,
  type RequestSummary,
  type Script,
  type ScriptedCall,
  type ScriptedError,
  type ScriptedTurn,
  type Wire,
} from "./script.ts";
export { startStandIn, STAND_IN_KEY, type StandIn } from "./stand-in.ts";
