import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { api, pathOfKey, queryClient, signedOut } from "./api/api.ts";
import { router } from "./router.tsx";
import { openConfirmation } from "./state/confirmation.ts";
import { watchGestures } from "./state/gestures.ts";
import { applyTheme, useSignal } from "./state/signals.ts";
import { Toasts } from "./ui/toast.tsx";
import "./styles/main.css";

applyTheme();
watchGestures();

signedOut.subscribe(() => {
  if (signedOut.get()) void goToSignIn().finally(() => signedOut.set(false));
});

/** Clears fetched data only after navigation: clearing it earlier would make the current page fetch again. */
async function goToSignIn(): Promise<void> {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/link") return;
  await router.navigate({ to: "/sign-in", search: { back: href } });
  // The sign-in page is shown already, and its query must keep its answer.
  queryClient.removeQueries({ predicate: ({ queryKey }) => pathOfKey(queryKey) !== "/sign-in" });
}

// PageHeader reads this: from the second page on, it focuses the heading.
router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) document.documentElement.dataset["navigated"] = "";
});

const ConfirmationDialog = lazy(async () => ({
  default: (await import("./shell/confirmation-dialog.tsx")).ConfirmationDialog,
}));

const sendPassword = (password: string) => api.post("/session/confirm", { body: { password } });

/** Asks for the password when the API requires it again; the client then repeats the request. */
function Confirmation() {
  const confirmation = useSignal(openConfirmation);
  return <Suspense>{confirmation && <ConfirmationDialog send={sendPassword} settle={confirmation.settle} />}</Suspense>;
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
        <Confirmation />
        <Toasts />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
