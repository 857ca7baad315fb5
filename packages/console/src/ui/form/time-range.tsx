import { useState } from "react";
import { type Preset, PRESETS, type RangeSearch } from "../../format/time-range.ts";
import { formatBucket, formatDate } from "../../format/times.ts";
import { chosenRange, useSignal, zone, ZONES } from "../../state/signals.ts";
import { Button } from "../button.tsx";
import { TextField } from "./field.tsx";
import { Popover } from "../popover.tsx";
import { Segmented } from "./toggle.tsx";

const PRESET_NAMES = Object.keys(PRESETS) as Preset[];

interface TimeRangeProps {
  value: RangeSearch;
  onChange: (value: Required<RangeSearch>) => void;
  preset?: Preset;
}

/** A picker for a page's time range. `value` is the page's search parameters, `preset` the page's default. */
export function TimeRange({ value, onChange, preset = "24h" }: TimeRangeProps) {
  const shownZone = useSignal(zone);
  const custom = value.range === undefined && value.from !== undefined;
  const label = custom ? spanLabel(value.from!, value.to, shownZone) : PRESETS[value.range ?? preset].label;
  return (
    <Popover
      title="Time range"
      trigger={
        <Button icon="clock" aria-label={`Time range: ${label}`}>
          {label}
        </Button>
      }
    >
      <Choices
        key={label}
        value={value}
        preset={custom ? undefined : (value.range ?? preset)}
        onChange={(range) => {
          chosenRange.set(range);
          onChange(range);
        }}
      />
    </Popover>
  );
}

/** A range's days, or the times in a range within one day. */
function spanLabel(from: string, to: string | undefined, shownZone: "local" | "utc"): string {
  const day = formatDate(from, shownZone);
  if (to === undefined) return `${day} – now`;
  const lastDay = formatDate(to, shownZone);
  if (day !== lastDay) return `${day} – ${lastDay}`;
  return `${formatBucket(from, 3_600_000, shownZone)} – ${formatBucket(to, 60_000, shownZone)}`;
}

interface ChoicesProps {
  value: RangeSearch;
  preset: Preset | undefined;
  onChange: (value: Required<RangeSearch>) => void;
}

function Choices({ value, preset, onChange }: ChoicesProps) {
  const [from, setFrom] = useState(() => toInput(value.from));
  const [to, setTo] = useState(() => toInput(value.to));
  const shownZone = useSignal(zone);
  const backwards = from !== "" && to !== "" && from >= to;
  return (
    <div className="grid w-80 max-w-full gap-3">
      <div className="flex flex-wrap gap-1.5" role="group" aria-label="Relative time range">
        {PRESET_NAMES.map((name) => (
          <Button
            key={name}
            size="small"
            look={name === preset ? "primary" : "secondary"}
            aria-pressed={name === preset}
            onClick={() => onChange({ range: name, from: undefined, to: undefined })}
          >
            {PRESETS[name].label}
          </Button>
        ))}
      </div>
      <form
        className="border-line grid gap-2 border-t pt-3"
        onSubmit={(event) => {
          event.preventDefault();
          onChange({ range: undefined, from: fromInput(from), to: fromInput(to) });
        }}
      >
        <TextField label="From" type="datetime-local" required value={from} onChange={setFrom} />
        <TextField
          label="To"
          hint="In your time zone. Leave empty for now."
          error={backwards ? "Must be after the start" : undefined}
          type="datetime-local"
          value={to}
          onChange={setTo}
        />
        <Button type="submit" look="primary" disabled={from === "" || backwards}>
          Apply range
        </Button>
      </form>
      <div className="border-line flex items-center justify-between border-t pt-3">
        <span className="text-muted text-xs">Time zone</span>
        <Segmented label="Time zone" options={ZONES} value={shownZone} onChange={zone.set} />
      </div>
    </div>
  );
}

/** A `datetime-local` input's value: local time, to the minute. */
function toInput(iso: string | undefined): string {
  if (iso === undefined) return "";
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const fromInput = (value: string): string | undefined => (value === "" ? undefined : new Date(value).toISOString());
