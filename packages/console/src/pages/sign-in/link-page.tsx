import type { LinkOffer } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useAction } from "../../api/action.ts";
import { api, setSession } from "../../api/api.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { NewPasswordField, TextField, useTexts } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Fault } from "../../ui/page.tsx";
import { Time } from "../../ui/values.tsx";
import { pageAfterSignIn, rememberBack, rememberedBack } from "./back.ts";
import { LinkSkeleton, SignInFrame } from "./sign-in-frame.tsx";

/** Opens a one-time link: signs the member in, or asks for what a set-up or an invitation needs. */
export function LinkPage() {
  // The secret follows the #, which browsers send to no server. It is removed from the address, so that the history does not keep it.
  const [link] = useState(() => window.location.hash.slice(1));
  const navigate = useNavigate();
  useEffect(() => window.history.replaceState(window.history.state, "", window.location.pathname), []);
  const opened = useOpenedLink(link);
  const signedIn = opened.data?.session !== undefined;
  useEffect(() => {
    if (!signedIn) return;
    const to = pageAfterSignIn(rememberedBack());
    rememberBack(undefined);
    void navigate({ to, replace: true });
  }, [signedIn, navigate]);

  if (link === "" || opened.error)
    return (
      <SignInFrame title="This link does not work">
        <div className="grid gap-4">
          {opened.error ? <Fault error={opened.error} /> : <p>The address is incomplete. Copy the whole link.</p>}
          <p className="text-muted text-sm text-pretty">
            Links work once, for a limited time. Ask an owner for a new one, or press <code>l</code> in the terminal of{" "}
            <code>patchbay dev</code>.
          </p>
          <LinkButton to="/sign-in">Sign in with a password</LinkButton>
        </div>
      </SignInFrame>
    );
  if (!opened.data || signedIn) return <LinkSkeleton />;
  return <AcceptForm link={link} offer={opened.data.offer} />;
}

/** Fetches what the link is for, and opens a sign-in link. A query, not an effect: a second render must not open the link again. */
const useOpenedLink = (link: string) =>
  useQuery({
    queryKey: ["opened-link", link],
    queryFn: async () => {
      const offer = await api.post("/links", { body: { link } });
      if (offer.kind !== "sign_in") return { offer, session: undefined };
      const session = await api.post("/links/open", { body: { link } });
      setSession(session);
      return { offer, session };
    },
    enabled: link !== "",
    staleTime: Infinity,
    // The key contains the secret: drop it with the page.
    gcTime: 0,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

/** Sets up the first owner, or accepts an invitation. */
function AcceptForm({ link, offer }: { link: string; offer: LinkOffer }) {
  const setup = offer.kind === "setup";
  const navigate = useNavigate();
  const [texts, field] = useTexts({ organisation: offer.organisation ?? "", name: "", email: "", password: "" });
  const accept = useAction({
    mutationFn: () => {
      const { name, password, email, organisation } = texts;
      const own = { link, name, password };
      return api.post("/links/accept", {
        body: setup ? { ...own, email, ...(offer.organisation === null && { organisation }) } : own,
      });
    },
    onSuccess: async (session) => {
      setSession(session);
      await navigate({ to: "/agents", replace: true });
    },
  });
  return (
    <SignInFrame
      title={setup ? "Set up Patchbay" : `Join ${offer.organisation ?? "the organisation"}`}
      description={
        <>
          {setup
            ? `You become the first owner of ${offer.organisation ?? "the organisation"}. `
            : offer.email !== null && `For ${offer.email}. `}
          This link expires <Time at={offer.expiresAt} exact />.
        </>
      }
    >
      <Form
        error={accept.error}
        onSubmit={accept.mutate}
        submit={
          <Button type="submit" look="primary" busy={accept.isPending}>
            {setup ? "Set up" : "Join"}
          </Button>
        }
      >
        {setup && offer.organisation === null && (
          <TextField
            {...field("organisation")}
            label="Organisation"
            required
            maxLength={200}
            autoComplete="organization"
          />
        )}
        <TextField {...field("name")} label="Your name" required maxLength={200} autoComplete="name" />
        {setup && (
          <TextField
            {...field("email")}
            label="E-mail"
            hint="Used to sign in; no e-mail is sent"
            type="email"
            required
            autoComplete="username"
          />
        )}
        <NewPasswordField {...field("password")} label="Password" />
      </Form>
    </SignInFrame>
  );
}
