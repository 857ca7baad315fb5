import paths from "./icon-paths.json";

/** An icon from `icon-paths.json`: stroke paths on a 16 × 16 grid, drawn for this console. */
export type IconName = keyof typeof paths;

/** Decorative and hidden from screen readers: put the meaning in the text next to it or in a label. */
export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  const size = className.includes("size-") ? "" : "size-4";
  return (
    <svg
      aria-hidden="true"
      className={`shrink-0 ${size} ${className}`}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === "more" ? 2 : 1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** The logo: two jacks and a cable. */
export const Logo = () => (
  <svg aria-hidden="true" viewBox="0 0 32 32" className="size-6 shrink-0">
    <rect width="32" height="32" rx="7" className="fill-accent-fill" />
    <g fill="none" stroke="#fff" strokeWidth="2.4">
      <circle cx="9.5" cy="9.5" r="3.2" />
      <circle cx="22.5" cy="22.5" r="3.2" />
      <path d="M9.5 12.7c0 9.3 13 0 13 6.6" strokeLinecap="round" />
    </g>
  </svg>
);
