import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import type { Person } from "../people.ts";
import { askServer } from "./ask-server.ts";
import { Approvals } from "./approvals.tsx";
import { PersonalChat } from "./personal-chat.tsx";
import "./style.css";

interface Session {
  people: Person[];
  person?: Person;
}

function App() {
  const [session, setSession] = useState<Session>();
  useEffect(() => void askServer<Session>("GET", "/api/session").then(setSession), []);
  if (!session) return null;
  const { people, person } = session;
  return (
    <>
      <header>
        <h1>Retail desk</h1>
        <label>
          Signed in as{" "}
          <select
            value={person?.id ?? ""}
            onChange={async ({ target }) =>
              setSession(await askServer<Session>("PUT", `/api/session/${encodeURIComponent(target.value)}`))
            }
          >
            {!person && <option value="">Choose a person</option>}
            {people.map(({ id, name, role }) => (
              <option key={id} value={id}>
                {name}, {role}
              </option>
            ))}
          </select>
        </label>
      </header>
      {person?.role === "manager" && <Approvals />}
      {person ? <PersonalChat key={person.id} person={person} /> : <main>Choose a person to chat as.</main>}
    </>
  );
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
