import { describe, expect, test } from "vitest";
import { joining } from "../../src/run/follow/follow.ts";

describe("a joined signal", () => {
  test("aborts with the reason of the signal that aborts first", () => {
    const [lasting, request, other] = [new AbortController(), new AbortController(), new AbortController()];
    const join = joining(lasting.signal);
    using one = join(request.signal);
    using two = join(other.signal);

    request.abort("left");
    expect([one.signal.reason, two.signal.aborted]).toEqual(["left", false]);
    lasting.abort("stopping");
    expect([one.signal.reason, two.signal.reason]).toEqual(["left", "stopping"]);
  });

  test("is aborted from the start when one of the two is", () => {
    const lasting = new AbortController();
    const join = joining(lasting.signal);
    using early = join(AbortSignal.abort("left"));
    lasting.abort("stopping");
    using late = join(new AbortController().signal);

    expect([early.signal.reason, late.signal.reason]).toEqual(["left", "stopping"]);
  });

  test("does not abort after it was disposed", () => {
    const [lasting, request] = [new AbortController(), new AbortController()];
    const one = joining(lasting.signal)(request.signal);
    one[Symbol.dispose]();

    request.abort();
    lasting.abort();

    expect(one.signal.aborted).toBe(false);
  });
});
