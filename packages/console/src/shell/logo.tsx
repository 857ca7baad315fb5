/** Two jacks and the cable between them. */
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
