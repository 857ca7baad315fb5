import type { ConsoleFunction } from "@patchbay/protocol/console";
import { type ReactNode, useEffect, useState } from "react";
import { formatCompact, formatCount, formatShare, formatShortUsd, formatUsd } from "../format/numbers.ts";
import { formatDuration, formatInstant, formatRelative } from "../format/times.ts";
import { createSignal, useSignal, zone } from "../state/signals.ts";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { useMedia } from "./measure.ts";
import { Tooltip } from "./tooltip.tsx";

const now = createSignal(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The current time, updated every 10 seconds. All times on a page share one timer, which stops when none is shown. */
function useNow(): number {
  useEffect(() => {
    watchers += 1;
    timer ??= setInterval(() => now.set(Date.now()), 10_000);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useSignal(now);
}

interface TimeProps {
  at: string | null;
  exact?: boolean;
  /** Shown without a time. */
  none?: string;
}

/** A relative time with the exact time in its tooltip; `exact` shows the exact time. */
export function Time({ at, exact = false, none = "never" }: TimeProps) {
  const current = useNow();
  const shownZone = useSignal(zone);
  if (at === null) return <span className="text-faint">{none}</span>;
  const instant = formatInstant(at, shownZone);
  if (exact) return <time dateTime={at}>{instant}</time>;
  return (
    <Tooltip content={instant}>
      <time dateTime={at} className="whitespace-nowrap">
        {formatRelative(at, Math.max(current, Date.now()), shownZone)}
      </time>
    </Tooltip>
  );
}

/** True from the moment on; checked every 10 seconds. */
export function useHasPassed(at: string): boolean {
  return Math.max(useNow(), Date.now()) >= Date.parse(at);
}

const none = <span className="text-faint">–</span>;

export function Duration({ ms }: { ms: number | null }) {
  return ms === null ? none : <span className="whitespace-nowrap">{formatDuration(ms)}</span>;
}

/** An amount; `short` has the whole amount as title. */
export function Money({ usd, short = false }: { usd: number | null; short?: boolean }) {
  if (usd === null) return none;
  if (short) return <span title={formatUsd(usd)}>{formatShortUsd(usd)}</span>;
  return <span className="whitespace-nowrap">{formatUsd(usd)}</span>;
}

interface CostProps {
  usd: number;
  provider: string;
  tokens: number;
}

/** True for turns from a model without a known price, whose cost is stored as 0. The offline model is free. */
export const isUnpriced = ({ usd, provider, tokens }: CostProps): boolean =>
  usd === 0 && tokens > 0 && provider !== "offline";

/** The cost of turns. */
export function Cost(props: CostProps) {
  if (!isUnpriced(props)) return <Money usd={props.usd} />;
  return (
    <Tooltip content="The model's price is not known, or is 0">
      <span data-hint="" className="text-muted whitespace-nowrap">
        no price
      </span>
    </Tooltip>
  );
}

/** A count; `short` shows 12.3K with the whole number as title. */
export function Count({ value, short = false }: { value: number | null; short?: boolean }) {
  if (value === null) return none;
  return short ? <span title={formatCount(value)}>{formatCompact(value)}</span> : <span>{formatCount(value)}</span>;
}

interface TwoLinesProps {
  first: ReactNode;
  /** Smaller, below the first. */
  second: ReactNode;
  /** The second line is an id. */
  id?: boolean;
  /** The first line may have two lines on narrow screens, and is cut beyond. */
  long?: boolean;
}

/** A name with its description or id below, as a table cell. */
export const TwoLines = ({ first, second, id = false, long = false }: TwoLinesProps) => (
  <span className="block min-w-0">
    <span className={classNames("font-medium", long ? "line-clamp-2 sm:line-clamp-1" : "block")}>{first}</span>
    <span className={classNames("text-muted block text-xs", id && "font-mono", long && "truncate")}>{second}</span>
  </span>
);

/** How many of `of` failed, or were denied, with their share. */
export const Failed = ({ count, of, tone = "text-bad" }: { count: number; of?: number; tone?: string }) =>
  count === 0 ? (
    <span className="text-faint">{of === 0 ? "–" : "0"}</span>
  ) : (
    <span className={`whitespace-nowrap ${tone}`}>
      {formatCount(count)} {of !== undefined && <span className="text-xs">({formatShare(count, of)})</span>}
    </span>
  );

/** Update interval with reduced motion. */
const REDUCED_MOTION_MS = 1_000;

/**
 * A run's duration in milliseconds, updated on every frame while it runs. `knownMs` is the duration in the response
 * that arrived at `knownAt` on the page's clock. The value never decreases, although the two clocks may drift between
 * responses.
 */
export function useRunClock({ running, knownMs, knownAt }: { running: boolean; knownMs: number; knownAt: number }) {
  const reducedMotion = useMedia("(prefers-reduced-motion: reduce)");
  const [nowMs, setNowMs] = useState(knownMs);
  useEffect(() => {
    if (!running) return undefined;
    const move = () => setNowMs((before) => Math.max(before, knownMs + Date.now() - knownAt));
    if (reducedMotion) {
      const timer = setInterval(move, REDUCED_MOTION_MS);
      return () => clearInterval(timer);
    }
    let frame = requestAnimationFrame(function draw() {
      move();
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, [running, reducedMotion, knownMs, knownAt]);
  return running ? Math.max(nowMs, knownMs) : knownMs;
}

export type Tone = "ok" | "bad" | "warn" | "info" | "idle" | "accent";

export const TONES: Record<Tone, string> = {
  ok: "bg-ok-soft text-ok",
  bad: "bg-bad-soft text-bad",
  warn: "bg-warn-soft text-warn",
  info: "bg-info-soft text-info",
  idle: "bg-idle-soft text-idle",
  accent: "bg-accent-soft text-accent",
};

/** A short label with an optional icon. */
export const Badge = ({ tone = "idle", icon, children }: { tone?: Tone; icon?: IconName; children: ReactNode }) => (
  <span
    className={classNames(
      "inline-flex h-5 max-w-full items-center gap-1 rounded px-1.5 text-xs font-medium whitespace-nowrap",
      TONES[tone],
    )}
  >
    {icon && <Icon name={icon} className={`size-3 ${icon === "running" ? "animate-turn" : ""}`} />}
    <span className="truncate">{children}</span>
  </span>
);

const STATES: Record<string, { tone: Tone; icon: IconName; word?: string }> = {
  // Runs.
  queued: { tone: "idle", icon: "clock" },
  running: { tone: "info", icon: "running" },
  waiting: { tone: "warn", icon: "clock" },
  succeeded: { tone: "ok", icon: "succeeded" },
  failed: { tone: "bad", icon: "failed" },
  cancelled: { tone: "idle", icon: "stopped" },
  "call failed": { tone: "bad", icon: "failed" },
  "call denied": { tone: "warn", icon: "denied" },
  // Approvals.
  pending: { tone: "warn", icon: "clock" },
  approved: { tone: "ok", icon: "succeeded" },
  rejected: { tone: "bad", icon: "denied" },
  // Webhook deliveries.
  delivered: { tone: "ok", icon: "succeeded" },
  // Spans and access decisions.
  ok: { tone: "ok", icon: "succeeded" },
  denied: { tone: "warn", icon: "denied" },
  unknown: { tone: "warn", icon: "alert", word: "outcome unknown" },
  allowed: { tone: "ok", icon: "succeeded" },
  conditional: { tone: "info", icon: "branch" },
  approval: { tone: "warn", icon: "clock", word: "needs approval" },
  // Keys, members and runtimes.
  invited: { tone: "warn", icon: "clock" },
  active: { tone: "ok", icon: "succeeded" },
  expired: { tone: "idle", icon: "clock" },
  revoked: { tone: "bad", icon: "denied" },
  connected: { tone: "ok", icon: "plug" },
  draining: { tone: "warn", icon: "clock" },
  disconnected: { tone: "idle", icon: "stopped" },
};

/**
 * A state as icon, word and colour. Accepts every API state; an unknown one is shown as it is. `brief` shows the icon
 * only in tables below 1280 px, with the word and `detail` in a tooltip.
 */
export function Status({ state, brief = false, detail }: { state: string; brief?: boolean; detail?: string | null }) {
  const { tone, icon, word = state } = STATES[state] ?? { tone: "idle", icon: "info" };
  if (!brief)
    return (
      <Badge tone={tone} icon={icon}>
        {word}
      </Badge>
    );
  return (
    <Tooltip content={detail ? `${word}: ${detail}` : word}>
      <span data-hint="" className="inline-flex">
        <Badge tone={tone} icon={icon}>
          <span className="sm:@max-7xl:sr-only">{word}</span>
        </Badge>
      </span>
    </Tooltip>
  );
}

const APPLE = /Mac|iP(hone|ad|od)/.test(globalThis.navigator?.userAgent ?? "");

/** A key, or several keys separated by spaces; `mod` is Cmd on Apple devices and Ctrl elsewhere. */
export const Kbd = ({ keys }: { keys: string }) => (
  <span className="inline-flex shrink-0 gap-0.5 whitespace-nowrap">
    {keys.split(" ").map((key, index) => (
      <kbd
        // Keys may repeat; their order is fixed.
        key={`${key}${index}`}
        className="border-line bg-sunken text-muted text-2xs inline-flex h-4.5 min-w-4.5 items-center justify-center rounded border px-1 font-sans"
      >
        {key === "mod" ? (APPLE ? "⌘" : "Ctrl") : key}
      </kbd>
    ))}
  </span>
);

const EFFECTS: Record<ConsoleFunction["effect"], { tone: Tone; icon: IconName }> = {
  read: { tone: "idle", icon: "search" },
  write: { tone: "info", icon: "edit" },
  destructive: { tone: "bad", icon: "alert" },
};

/** A restricted field as shown: its path, or "the whole result" for `$`. */
export const fieldLabel = (path: string): string => (path === "$" ? "the whole result" : path);

/** What a call does to the owner's data. */
export function Effect({ effect }: Pick<ConsoleFunction, "effect">) {
  return <Badge {...EFFECTS[effect]}>{effect}</Badge>;
}

/** The roles that may call the function, and whether authorize() decides per call. */
export const RoleBadges = ({ roles, conditional }: Pick<ConsoleFunction, "roles" | "conditional">) => (
  <span className="inline-flex flex-wrap items-center gap-1">
    {roles === "everyone" ? (
      <Badge tone="ok">everyone</Badge>
    ) : roles.length === 0 ? (
      <Badge tone="warn" icon="denied">
        no role
      </Badge>
    ) : (
      roles.map((role) => (
        <Badge key={role} tone="accent">
          {role}
        </Badge>
      ))
    )}
    {conditional && (
      <Badge tone="info" icon="branch">
        conditional
      </Badge>
    )}
  </span>
);
