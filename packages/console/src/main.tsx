import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient, signedOut } from "./api/api.ts";
import { router } from "./router.tsx";
import { Confirmation } from "./shell/confirmation.tsx";
import { followTheme } from "./state/theme.ts";
import { Toasts } from "./ui/toast.tsx";
import "./styles/main.css";

followTheme();

signedOut.subscribe(() => {
  if (signedOut.get()) void goToSignIn().finally(() => signedOut.set(false));
});

/** What was fetched is forgotten after the pages that show it are gone. */
async function goToSignIn(): Promise<void> {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in" || pathname === "/link") return;
  await router.navigate({ to: "/sign-in", search: { back: href } });
  queryClient.clear();
}

// Read by PageHeader: from the second page on, the focus goes to the heading.
router.subscribe("onBeforeNavigate", ({ fromLocation, pathChanged }) => {
  if (fromLocation && pathChanged) document.documentElement.dataset["navigated"] = "";
});

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
