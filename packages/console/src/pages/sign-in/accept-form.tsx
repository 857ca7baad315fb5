import type { LinkOffer } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { sessionQuery } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { PasswordField } from "../../ui/password-field.tsx";
import { Time } from "../../ui/figures.tsx";
import { Fault } from "../../ui/states.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";

/** Sets up the service for its first owner, or takes on an invitation. */
export function AcceptForm({ link, offer }: { link: string; offer: LinkOffer }) {
  const setup = offer.kind === "setup";
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [form, setForm] = useState({ organisation: offer.organisation ?? "", name: "", email: "", password: "" });
  const set = (member: keyof typeof form) => (value: string) => setForm({ ...form, [member]: value });
  const accept = useMutation({
    mutationFn: () => {
      const { name, password, email, organisation } = form;
      const own = { link, name, password };
      return api.post("/links/accept", {
        body: setup ? { ...own, email, ...(offer.organisation === null && { organisation }) } : own,
      });
    },
    onSuccess: async (session) => {
      queries.setQueryData(sessionQuery().queryKey, session);
      await navigate({ to: "/agents", replace: true });
    },
  });
  return (
    <SignInFrame
      title={setup ? "Set up Patchbay" : `Join ${offer.organisation ?? "the organisation"}`}
      description={
        <>
          {setup ? "You become its first owner. " : offer.email !== null && `For ${offer.email}. `}
          The link works until <Time at={offer.expiresAt} exact />.
        </>
      }
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          accept.mutate();
        }}
      >
        {setup && offer.organisation === null && (
          <Field label="Organisation">
            <Input
              required
              maxLength={200}
              autoComplete="organization"
              value={form.organisation}
              onChange={(event) => set("organisation")(event.target.value)}
            />
          </Field>
        )}
        <Field label="Your name">
          <Input
            required
            maxLength={200}
            autoComplete="name"
            value={form.name}
            onChange={(event) => set("name")(event.target.value)}
          />
        </Field>
        {setup && (
          <Field label="E-mail" hint="You sign in with it. Nothing is sent to it.">
            <Input
              type="email"
              required
              autoComplete="username"
              value={form.email}
              onChange={(event) => set("email")(event.target.value)}
            />
          </Field>
        )}
        <PasswordField label="Password" value={form.password} onChange={set("password")} />
        <Fault error={accept.error} />
        <Button type="submit" look="primary" busy={accept.isPending}>
          {setup ? "Set up" : "Join"}
        </Button>
      </form>
    </SignInFrame>
  );
}
