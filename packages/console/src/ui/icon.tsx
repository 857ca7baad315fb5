/** Stroke paths on a 16 × 16 grid, drawn for this console. */
const PATHS = {
  agent: "M3.5 6.5h9v6.5h-9zM8 6.5V3.5M8 3.5h.01M6 9.3v1M10 9.3v1M1.8 9v2M14.2 9v2",
  overview: "M2.5 2.5h4.5v6H2.5zM9 2.5h4.5v3.5H9zM2.5 10.5h4.5v3H2.5zM9 8h4.5v5.5H9z",
  chart: "M2.5 13.5h11M4.5 11V7.5M8 11V3.5M11.5 11V6",
  chat: "M2.5 3.5h11v7.5H7l-3 2.5V11H2.5z",
  run: "M2.5 4h6M5 8h6M8.5 12h5",
  thread: "M3 4h10M3 8h10M3 12h6",
  session: "M8 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM3 13.5c.6-2.3 2.5-3.5 5-3.5s4.4 1.2 5 3.5",
  function: "M10.5 3C8 2.6 7.6 4 7.4 5.5L6.4 11c-.3 1.6-.9 2.6-2.6 2.2M4.8 6.8h5.4",
  access: "M8 2l5 2v3.6c0 3-2 5.3-5 6.4-3-1.1-5-3.4-5-6.4V4zM5.8 8l1.6 1.6 2.9-3.1",
  key: "M10.5 8.5a3 3 0 1 0-3-3c0 .4.1.8.2 1.1L2.5 11.8v1.7h2v-1.5H6v-1.5l1.7-1.7c.8.5 1.8.7 2.8-.3zM11 5h.01",
  plug: "M5.5 2.5v3M10.5 2.5v3M4 5.5h8v2a4 4 0 0 1-8 0zM8 11.5v2.5",
  settings: "M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3",
  audit: "M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2",
  credit: "M2 4.5h12v7.5H2zM2 7h12M4.5 9.8h2",
  members:
    "M6 7.5a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6zM2 13c.4-2.1 1.9-3.3 4-3.3s3.6 1.2 4 3.3M10.8 3.2a2.2 2.2 0 0 1 0 4.2M11.7 9.9c1.3.4 2.1 1.5 2.3 3.1",
  organisation: "M3 13.5v-11h6.5v11M9.5 6.5H13v7M1.5 13.5h13M5.2 5h2M5.2 7.5h2M5.2 10h2",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.2 3.2",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.2 3.2L13 4.8",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  left: "M10 4L6 8l4 4",
  upDown: "M5 6l3-3 3 3M5 10l3 3 3-3",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  moon: "M13.3 9.6A5.7 5.7 0 0 1 6.4 2.7a5.7 5.7 0 1 0 6.9 6.9z",
  screen: "M2 3h12v8H2zM5.5 13.5h5",
  signOut: "M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6",
  clock: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM8 4.8V8l2.2 1.5",
  alert: "M8 2.3l6.2 11H1.8zM8 6.5v3M8 11.4h.01",
  info: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM8 7.5v3.3M8 5.2h.01",
  denied: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM3.9 3.9l8.2 8.2",
  failed: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM6 6l4 4M10 6l-4 4",
  succeeded: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM5.5 8.2l1.8 1.8 3.3-3.7",
  stopped: "M8 13.8A5.8 5.8 0 1 0 8 2.2a5.8 5.8 0 0 0 0 11.6zM5.3 8h5.4",
  running: "M13.8 8A5.8 5.8 0 1 1 8 2.2",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.7h-2.7",
  filter: "M2.5 4h11M4.5 8h7M6.5 12h3",
  external: "M9 2.5h4.5V7M13.5 2.5L7.5 8.5M11.5 9.5v4h-9v-9h4",
  send: "M8 13V3M4 7l4-4 4 4",
  trash: "M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.6 9h5.8l.6-9",
  table: "M2.5 3h11v10h-11zM2.5 6.5h11M6.5 6.5V13",
  download: "M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13.5h10",
  edit: "M3 13l.6-2.9 7-7 2.3 2.3-7 7z",
  expand: "M9.5 2.5h4v4M13.5 2.5L9 7M6.5 13.5h-4v-4M2.5 13.5L7 9",
  unfold: "M5 5.5l3-3 3 3M5 10.5l3 3 3-3M3 8h10",
  fold: "M5 2.5l3 3 3-3M5 13.5l3-3 3 3M3 8h10",
  code: "M5.5 4.5L2 8l3.5 3.5M10.5 4.5L14 8l-3.5 3.5",
  branch: "M5 2.5v11M5 9.5c0-3 6-1.5 6-5.5M3.8 3h2.4M9.8 4h2.4",
} as const;

export type IconName = keyof typeof PATHS;

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
      <path d={PATHS[name]} />
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
