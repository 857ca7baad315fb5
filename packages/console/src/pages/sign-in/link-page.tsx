import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import { sessionQuery } from "../../api/queries.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Fault, Loading, Skeleton } from "../../ui/states.tsx";
import { AcceptForm } from "./accept-form.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";

/** Where one-time links lead: signs in at once, or asks for what a set-up or an invitation needs. */
export function LinkPage() {
  // The secret stands behind the # so that no server sees it; it is taken out of the address, and so of the history.
  const [link] = useState(() => window.location.hash.slice(1));
  const navigate = useNavigate();
  useEffect(() => window.history.replaceState(window.history.state, "", window.location.pathname), []);
  const opened = useOpenedLink(link);
  const signedIn = opened.data?.session !== undefined;
  useEffect(() => {
    if (signedIn) void navigate({ to: "/agents", replace: true });
  }, [signedIn, navigate]);

  if (link === "" || opened.error)
    return (
      <SignInFrame title="This link does not work">
        <div className="grid gap-4">
          {opened.error ? (
            <Fault error={opened.error} />
          ) : (
            <p>The address ends before its secret part. Copy the whole line that was printed.</p>
          )}
          <p className="text-muted text-sm text-pretty">
            Links work once and for a limited time. An owner makes another one on the Members page; the development
            service prints one when it starts.
          </p>
          <Link to="/sign-in" className={buttonClass()}>
            Sign in with a password
          </Link>
        </div>
      </SignInFrame>
    );
  if (!opened.data || signedIn)
    return (
      <SignInFrame title="Signing in">
        <Loading>
          <Skeleton className="h-8" />
        </Loading>
      </SignInFrame>
    );
  return <AcceptForm link={link} offer={opened.data.offer} />;
}

/** What the link is for; one that signs in is used at once. A query, so that drawing the page twice uses the link once. */
function useOpenedLink(link: string) {
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["opened-link", link],
    queryFn: async () => {
      const offer = await api.post("/links", { body: { link } });
      if (offer.kind !== "sign_in") return { offer, session: undefined };
      const session = await api.post("/links/open", { body: { link } });
      queries.setQueryData(sessionQuery().queryKey, session);
      return { offer, session };
    },
    enabled: link !== "",
    staleTime: Infinity,
    // Its key has the secret in it: it goes with the page.
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}
