// The facts in which the session differs from what the run was trained on.

import { el } from "./dom.js";
import { button, term } from "./parts.js";
import { changed, changeFacts, session } from "./session.js";

/** A line with each changed fact and a way to take it back; null where nothing is changed. */
export function changesBar() {
  if (session.kind !== "run" || !changed()) return null;
  const without = (facts, fact) => facts.filter((one) => one !== fact);
  return el(
    "aside",
    { class: "changes", "aria-label": "Changed facts" },
    el("span", { class: "changes-name" }, "Changed facts"),
    el(
      "ul",
      {},
      session.added.map((fact) =>
        row("added", "+", fact, () => apply(without(session.added, fact), session.removed)),
      ),
      session.removed.map((fact) =>
        row("removed", "−", fact, () => apply(session.added, without(session.removed, fact))),
      ),
    ),
    button("As trained", () => apply([], []), { class: "quiet" }),
  );
}

function row(kind, sign, fact, undo) {
  return el(
    "li",
    { class: kind },
    el("span", { class: "sign", "aria-label": kind }, sign),
    term(fact),
    button("×", undo, { class: "undo", "aria-label": `Take back: ${kind} ${fact.slice(0, 200)}` }),
  );
}

async function apply(added, removed) {
  await changeFacts(added, removed);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}
