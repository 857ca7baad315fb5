import type { Models } from "@patchbay/protocol/console";
import { PROVIDER_NAMES, type ProviderName, PROVIDERS, REASONING, type Reasoning } from "@patchbay/protocol/providers";
import { useQuery } from "@tanstack/react-query";
import { resource } from "../../api/api.ts";
import { formatUsd } from "../../format/numbers.ts";
import { Combobox } from "../../ui/form/combobox.tsx";
import { Field } from "../../ui/form/field.tsx";
import { Select } from "../../ui/form/select.tsx";

/** What the control plane has configured; undefined until it is known. */
const useModels = (): Models | undefined => useQuery({ ...resource("/models"), staleTime: 60_000 }).data;

/** The first configured provider or endpoint. */
export const useFirstProvider = (): string => useModels()?.providers[0]?.name ?? PROVIDER_NAMES[0];

/**
 * The configured providers, and the selected one, so that a saved choice stays visible. With `endpoints` those by their
 * own names.
 */
export function providersOffered(models: Models | undefined, selected: string, { endpoints = false } = {}) {
  const families = models?.providers.map(({ family }) => family) ?? PROVIDER_NAMES;
  const names = endpoints ? (models?.providers.map(({ name }) => name) ?? PROVIDER_NAMES) : families;
  const offered = new Set<string>(selected === "" ? names : [...names, selected]);
  return [...offered].map((value) => {
    const label = PROVIDER_NAMES.find((name) => name === value) ? PROVIDERS[value as ProviderName].label : value;
    return { value, label: names.some((name) => name === value) ? label : `${label} (not configured)` };
  });
}

interface ProviderSelectProps<T extends string> {
  label: string;
  value: T;
  onChange: (value: T) => void;
  /** The empty choice's label; without it, a provider must be selected. */
  none?: string;
  /** Choices between the empty one and the providers. */
  others?: readonly { value: T; label: string }[];
  disabled?: boolean;
  /** Offers endpoints by their own names. */
  endpoints?: boolean;
  className?: string;
}

/** A select with the configured providers. */
export function ProviderSelect<T extends string>({
  none,
  others = [],
  endpoints = false,
  ...props
}: ProviderSelectProps<T>) {
  const offered = providersOffered(useModels(), props.value, { endpoints });
  const options = [...(none === undefined ? [] : [{ value: "", label: none }]), ...others, ...offered];
  return <Select {...props} options={options as { value: T; label: string }[]} />;
}

type Level = "" | Reasoning;

/** A select with the levels of reasoning. `none` is the empty choice's label. */
export const ReasoningSelect = ({
  none,
  ...props
}: { none: string } & Omit<React.ComponentProps<typeof Select<Level>>, "options">) => (
  <Select {...props} options={[{ value: "", label: none }, ...REASONING.map((value) => ({ value, label: value }))]} />
);

interface ModelFieldProps {
  label: string;
  /** A provider, or an endpoint. */
  provider: string;
  value: string;
  onChange: (value: string) => void;
  error?: string | undefined;
  readOnly?: boolean;
  /** True for a field whose label is not shown. */
  bare?: boolean;
}

/** A provider's model: any name, with those of a known price as suggestions. */
export function ModelField({ label, provider, value, onChange, error, bare = false, readOnly }: ModelFieldProps) {
  const models = useModels();
  const named = provider || models?.default?.provider;
  const known = models?.providers.find(({ name, family }) => name === named || family === named);
  const priceOf = (model: string) => {
    const price = known?.priced.find((entry) => entry.model === model)?.price;
    return price && `${formatUsd(price.input)} in, ${formatUsd(price.output)} out`;
  };
  const preset = provider === "" ? models?.default?.model : known?.model;
  const price = priceOf(value || (preset ?? ""));
  const field = (
    <Combobox
      {...(bare && { label })}
      suggestions={known?.priced.map(({ model }) => model) ?? []}
      about={priceOf}
      value={value}
      onChange={onChange}
      placeholder={preset === undefined ? "Provider default" : `${preset} (default)`}
      readOnly={readOnly ?? false}
      className="min-w-0 flex-1"
    />
  );
  if (bare) return field;
  const leftOut = known?.leftOut && `the server does not get ${known.leftOut.join(", ")}`;
  const hint = [price && `${price} per million tokens`, leftOut].filter(Boolean).join("; ");
  return (
    <Field label={label} error={error} hint={hint || undefined}>
      {field}
    </Field>
  );
}
