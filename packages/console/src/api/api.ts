import { QueryClient } from "@tanstack/react-query";
import { askConfirmation } from "../state/confirmation.ts";
import { createSignal } from "../state/signal.ts";
import { ApiError } from "./api-error.ts";
import { createClient } from "./client.ts";

/** True from the moment a request finds the session ended; the router then goes to the sign-in page. */
export const signedOut = createSignal(false);

/** The client of the page: one for all, as there is one session. */
export const api = createClient({
  fetch: (...request) => fetch(...request),
  onSignedOut: () => signedOut.set(true),
  confirm: askConfirmation,
});

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.passing,
    },
    // What was sent and answered may be a password or a new key: it goes with the form that sent it.
    mutations: { gcTime: 0 },
  },
});
