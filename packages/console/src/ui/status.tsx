import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";

export type Tone = "ok" | "bad" | "warn" | "info" | "idle" | "accent";

const TONES: Record<Tone, string> = {
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
  succeeded: { tone: "ok", icon: "succeeded" },
  failed: { tone: "bad", icon: "failed" },
  cancelled: { tone: "idle", icon: "stopped" },
  // Spans and access decisions.
  ok: { tone: "ok", icon: "succeeded" },
  denied: { tone: "warn", icon: "denied" },
  unknown: { tone: "warn", icon: "alert", word: "outcome unknown" },
  allowed: { tone: "ok", icon: "succeeded" },
  conditional: { tone: "info", icon: "branch" },
  // Keys and runtimes.
  active: { tone: "ok", icon: "succeeded" },
  expired: { tone: "idle", icon: "clock" },
  revoked: { tone: "bad", icon: "denied" },
  connected: { tone: "ok", icon: "plug" },
  draining: { tone: "warn", icon: "clock" },
  disconnected: { tone: "idle", icon: "stopped" },
};

/** A state as icon, word and colour. Accepts every state of the API; an unknown one is shown as it is. */
export function Status({ state }: { state: string }) {
  const { tone, icon, word = state } = STATES[state] ?? { tone: "idle", icon: "info" };
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
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
