import { textOfArguments } from "./neutral-request.ts";
import type { JsonObject, JsonValue } from "@patchbay/kit";

export type Item = JsonObject & {
  id?: string;
  type: string;
  status?: string;
  call_id?: string;
  name?: string;
  arguments?: JsonValue;
  phase?: string;
  summary?: { text?: string }[];
};

/** The members of an event about one item. */
export interface OutputEvent {
  type: string;
  output_index?: number | null;
  item_id?: string;
  item?: Item;
  delta?: JsonValue;
  name?: string;
  arguments?: JsonValue;
}

interface Output {
  item: Item;
  index: number | null | undefined;
  /** The text of its delta events; undefined before the first one. */
  text?: string;
  isDone?: boolean;
}

/** The output items of one response. Compatible servers leave out `output_item.done`, the index and the item's id, or change them. */
export function responseOutputs() {
  const outputs: Output[] = [];

  /** The output that an event is about, among those that `fits` accepts: by its id, then by its index. */
  function find(event: OutputEvent, fits: (output: Output) => boolean): Output | undefined {
    const [id, index] = [event.item_id ?? event.item?.id, event.output_index ?? undefined];
    const list = outputs.filter(fits);
    const byId = id ? list.findLast(({ item }) => item.id === id) : undefined;
    const isAt = (output: Output) => index === undefined || output.index === index;
    // Items end in the order in which they began.
    return byId ?? (event.item ? list.find(isAt) : list.findLast(isAt));
  }

  function begin({ item, output_index: index }: OutputEvent): void {
    if (item) outputs.push({ item, index });
  }

  /** Only now are encrypted reasoning and arguments complete. */
  function finish(event: OutputEvent): void {
    const { item, output_index: index } = event;
    if (!item) return;
    const text = JSON.stringify(item);
    const output =
      find(event, (one) => !one.isDone && one.item.type === item.type) ??
      find(event, (one) => one.isDone === true && JSON.stringify(one.item) === text);
    if (output) Object.assign(output, { item, isDone: true });
    else outputs.push({ item, index, isDone: true });
  }

  return {
    begin,
    finish,
    /** Takes a piece of a text or of arguments, and returns its item. */
    piece(event: OutputEvent): Item {
      const type = event.type.includes("function_call") ? "function_call" : "message";
      let output = find(event, (one) => one.item.type === type && !one.isDone);
      if (!output) {
        output = { item: { type, ...(event.item_id && { id: event.item_id }) }, index: event.output_index };
        outputs.push(output);
      }
      const { item } = output;
      if (event.name) item.name ??= event.name;
      output.text =
        event.arguments === undefined
          ? (output.text ?? "") + textOfArguments(event.delta)
          : textOfArguments(event.arguments);
      return item;
    },
    /** `whole`: the response is complete, and so are the items that only have pieces. */
    items(output: readonly Item[], whole: boolean): Item[] {
      if (!outputs.some(({ isDone }) => isDone))
        for (const [index, item] of output.entries()) finish({ type: "", item, output_index: index });
      const kept = outputs.filter(({ isDone, text }) => isDone || (whole && text !== undefined));
      kept.sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
      for (const { item, text } of kept) {
        if (item.type === "function_call" && !textOfArguments(item.arguments) && text) item.arguments = text;
        if (item.type === "message" && text && ["", "[]"].includes(textOfArguments(item["content"])))
          item["content"] = [{ type: "output_text", text }];
      }
      return kept.map(({ item }) => item);
    },
  };
}
