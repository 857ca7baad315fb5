import { LINK_CLOSE } from "@patchbay/protocol";
import type { LinkEnd } from "./link.ts";

/** What the log says of a lost or refused connection: the control plane's own words are its `reason`. */
export interface EndWords {
  level: "info" | "warn" | "error";
  message: string;
  /** True when it will not pass by itself: another attempt is not urgent. */
  lasting: boolean;
}

/** Says what happened to a lost or refused connection and what its owner can do. The runtime retries in every case. */
export function explainEnd({ status, code }: LinkEnd): EndWords {
  if (status === 429)
    return passing("warn", "the control plane refused this connection: a limit is reached; trying again");
  if (status === 503) return passing("info", "the control plane takes no connections at the moment; trying again");
  const refusal = status === undefined ? undefined : REFUSALS[status];
  if (refusal) return { level: "error", message: refusal, lasting: true };
  const closed = CLOSES[code];
  // The name or the role may move from one service to the other in a rollout.
  if (closed) return { level: "error", message: closed, lasting: code !== LINK_CLOSE.serviceConflict };
  if (code === LINK_CLOSE.tooManyFrames)
    return passing(
      "warn",
      "this runtime sent too many frames that the control plane did not ask for, of progress or of any other kind, so the control plane closed the connection; report less progress, and update this package",
    );
  if (code === LINK_CLOSE.goingAway) return passing("info", "the control plane went away; reconnecting");
  return passing("warn", "no connection to the control plane; reconnecting");
}

const passing = (level: EndWords["level"], message: string): EndWords => ({ level, message, lasting: false });

const REFUSALS: Record<number, string> = {
  401: "the control plane refused the runtime key: it is wrong, revoked or of another kind (an API key does not connect functions); make one with `patchbay runtime-keys create --agent ID`",
  403: "the control plane refused this runtime: the runtime key belongs to another agent than the given agent id; use that agent's own key",
  404: "the address is no control plane: nothing answers at /functions/connect there; check the url",
};

const CLOSES: Record<number, string> = {
  [LINK_CLOSE.badFrame]: "the control plane closed the link over malformed frames; run the same version on both sides",
  [LINK_CLOSE.wrongVersion]:
    "the control plane speaks another version of the link; update this package or the control plane",
  [LINK_CLOSE.manifestRefused]:
    "the control plane refused the function set; the reason names the fault and what to do; trying again",
  [LINK_CLOSE.serviceConflict]:
    "the control plane refused this service next to another one of the agent, and the reason says why; move functions, align the default roles or use another agent; trying again",
  [LINK_CLOSE.helloTimeout]: "the control plane saw no hello in time; this process or the network is too slow",
  [LINK_CLOSE.keyRevoked]:
    "the runtime key was revoked; make a new one with `patchbay runtime-keys create --agent ID` and restart with it",
};
