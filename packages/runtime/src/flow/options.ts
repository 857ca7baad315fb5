import { CALLER, FLOW_MODES, type FlowRules, type FunctionManifest } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, present } from "@patchbay/kit";
import { DefinitionError } from "../errors.ts";
import { isLabel } from "../labels.ts";
import { defaultLog } from "../log.ts";
import type { Labels } from "./labels.ts";

/** Where a target's value may come from. `"trusted"`: from the caller or from a trusted result. */
export type TargetSource = "caller" | "trusted" | "any";

/** A function's data-flow rules. They apply in services with `flows`. `Member`: an argument name. */
export interface FunctionFlow<Member extends string = string> {
  /**
   * Whether strangers can write what the function returns, and its errors. Default: `"untrusted"` with `openWorld`,
   * else `"trusted"`, except for the parts that the output schema labels with {@link untrusted}.
   */
  returns?: "trusted" | "untrusted";
  /**
   * Arguments that say where a call acts, and who must have given their values: the `"caller"`, whose query or context
   * has each as one whole word or value, or also a `"trusted"` result. `"any"` as a whole: a call may act anywhere.
   */
  targets?: "any" | { readonly [Name in Member]?: TargetSource };
  /**
   * True if strangers wrote the name, the description or the schema, as for the tools of another server: a model that
   * reads them counts as having read something untrusted. Default false.
   */
  foreign?: boolean;
  /** Arguments that leave your systems, such as the body of a mail. */
  sends?: readonly Member[];
  /** Words by which callers ask for the function, besides those of its name: `["pay", "überweise"]`. */
  verbs?: readonly string[];
}

/** What a service does with calls that its data-flow rules do not allow. */
export interface FlowOptions<Role extends string = string> {
  /** `"report"` counts them, `"ask"` asks a person, `"deny"` refuses them. */
  mode: "report" | "ask" | "deny";
  /** The roles that may decide on an asked call, as in a function's `approval`. Without any, an asked call is refused. */
  by?: readonly (Role | typeof CALLER)[];
}

const SOURCES: readonly unknown[] = ["caller", "trusted", "any"];

/** A function's data-flow rules, for the manifest. Throws `DefinitionError` for a mistake. Undefined without rules. */
export function checkFlow(
  options: object,
  { inputSchema, labels, where }: { inputSchema: JsonObject; labels: Labels | undefined; where: string },
): FlowRules | undefined {
  const { returns, targets, sends, verbs, foreign } = options as Partial<Record<string, unknown>>;
  const refuse = (text: string): never => {
    throw new DefinitionError(`${where}: ${text}`);
  };
  const members = isJsonObject(inputSchema["properties"]) ? Object.keys(inputSchema["properties"]) : [];
  const checkMembers = (option: string, names: readonly string[]): void => {
    const unknown = names.find((name) => !members.includes(name));
    if (unknown !== undefined)
      refuse(
        `${option} names "${unknown}", which is not a member of the input. Its members are: ${members.join(", ")}.`,
      );
  };
  if (returns !== undefined && returns !== "trusted" && returns !== "untrusted")
    refuse('returns must be "trusted" or "untrusted", or absent.');
  const isAny = targets === "any";
  if (targets !== undefined && !isAny) {
    if (!isJsonObject(targets) || !Object.values(targets).every((from) => SOURCES.includes(from)))
      return refuse('targets must be "any", or say "caller", "trusted" or "any" for members of the input.');
    checkMembers("targets", Object.keys(targets));
  }
  if (foreign !== undefined && typeof foreign !== "boolean") refuse("foreign must be true or false.");
  const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isLabel);
  if (sends !== undefined && !isTexts(sends)) return refuse("sends must be a list of members of the input, or absent.");
  if (sends !== undefined) checkMembers("sends", sends);
  if (verbs !== undefined && !isTexts(verbs)) return refuse("verbs must be a list of words, or absent.");
  const rules = present({
    returns: returns as FlowRules["returns"],
    targets: isAny ? {} : (targets as FlowRules["targets"]),
    sends,
    verbs,
    foreign: foreign === true || undefined,
    ...labels?.rules,
  });
  return Object.keys(rules).length > 0 ? rules : undefined;
}

/** The service's `flows`, checked. Undefined without. */
export function checkFlows(flows: unknown, where: string): FlowOptions | undefined {
  if (flows === undefined) return undefined;
  const { mode, by = [], ...others } = isJsonObject(flows) ? flows : {};
  if (
    !FLOW_MODES.some((one) => one === mode) ||
    !Array.isArray(by) ||
    !by.every(isLabel) ||
    Object.keys(others).length > 0
  )
    throw new DefinitionError(
      `${where}: flows must be an object such as { mode: "ask", by: ["${CALLER}"] }. Its mode is one of ${FLOW_MODES.map((one) => `"${one}"`).join(", ")}.`,
    );
  return { mode: mode as FlowOptions["mode"], by };
}

/** True if the service withholds results. Throws for another value, and without the hook that lets them pass. */
export function checkResults(results: unknown, hook: unknown, where: string): boolean {
  if (results === undefined) return false;
  if (results !== "withhold") throw new DefinitionError(`${where}: results must be "withhold", or absent.`);
  if (hook === undefined)
    throw new DefinitionError(
      `${where}: results: "withhold" needs a beforeAnswer hook, because only an answer that it allows lets results pass.`,
    );
  return true;
}

/** A function's manifest in a service with `flows`. Throws, or warns with `report`, where a call could act anywhere. */
export function withFlows(manifest: FunctionManifest, flows: FlowOptions | undefined, where: string): FunctionManifest {
  if (!flows) return manifest;
  const { flow, effect, name } = manifest;
  const isGrave = effect === "destructive" || (flow?.sends ?? []).length > 0;
  if (isGrave && !flow?.targets) {
    const why = `"${name}" ${effect === "destructive" ? "is destructive" : "sends data"} and has no targets, so nothing says where it may act`;
    if (flows.mode !== "report")
      throw new DefinitionError(`${where}: ${why}. Give targets such as { account: "caller" }, or targets: "any".`);
    defaultLog().warn("a function may act anywhere", { functionName: name, fix: "give it targets" });
  }
  return { ...manifest, flow: { ...flow, mode: flows.mode, by: [...(flows.by ?? [])] } };
}
