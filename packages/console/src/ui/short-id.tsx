interface ShortIdProps {
  id: string | null;
  units?: number;
  /** Shown without an id. */
  none?: string;
}

/** The beginning of a long id or hash, with the whole one as title. */
export const ShortId = ({ id, units = 8, none = "–" }: ShortIdProps) =>
  id === null ? (
    <span className="text-faint">{none}</span>
  ) : (
    <code className="font-mono text-xs" title={id}>
      {id.slice(0, units)}
    </code>
  );
