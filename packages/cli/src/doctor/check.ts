/** What one look found. `fix` says what to do about it. */
export interface Finding {
  name: string;
  status: "ok" | "warn" | "fail";
  message: string;
  fix?: string;
}

export const ok = (name: string, message: string): Finding => ({ name, status: "ok", message });
export const warn = (name: string, message: string, fix: string): Finding => ({ name, status: "warn", message, fix });
export const fail = (name: string, message: string, fix: string): Finding => ({ name, status: "fail", message, fix });
