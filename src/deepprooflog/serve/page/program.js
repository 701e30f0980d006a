// A program beside its answers: edit, ask, see the answers and a proof.

import { failure } from "./answers.js";
import { el, show } from "./dom.js";
import { editor } from "./editor.js";
import { bar, chip, empty, problem, remarks, splitBar, term, waiting } from "./parts.js";
import { proofCard } from "./detail.js";
import { link } from "./routes.js";
import { ask, changeProgram, session } from "./session.js";
import { plural, probability, seconds, shortened } from "./text.js";

let text = null; // as it stands in the editor, also while it has errors
window.addEventListener("elsewhere", () => {
  text = null; // another tab's text is the session's
  wrong = [];
});
let wrong = [];

/** The view of a program, asked `q`; `open` shows the proof of one answer. */
export async function programView(root, { q, open }) {
  text ??= session.program ?? "";
  const results = el("section", { class: "results", "aria-label": "Answers" });
  let asked = 0;
  const pad = editor(text, {
    onText: async (now) => {
      if (now === text && !wrong.length) return;
      text = now;
      asked += 1;
      const mine = asked;
      const answer = await changeProgram(now).catch((error) => ({ ok: false, errors: [error] }));
      if (mine !== asked) return;
      wrong = answer.ok ? [] : answer.errors;
      pad.mark(wrong);
      if (answer.ok && q) await answerNow(results, q, open, pad);
      else if (!answer.ok) show(results, stale());
    },
  });
  pad.mark(wrong);
  show(
    root,
    el(
      "div",
      { class: "two program" },
      el(
        "section",
        { "aria-label": "The program" },
        el(
          "div",
          { class: "list-head" },
          el("h2", {}, shortened(session.name, 60)),
          el("p", { class: "meta" }, "changes stay in this page: the file is not written"),
        ),
        pad.element,
      ),
      results,
    ),
  );
  if (wrong.length) show(results, stale());
  else if (q) await answerNow(results, q, open, pad);
  else
    show(
      results,
      empty(
        "Ask the program",
        el("p", {}, "Type a goal above: its probability, its answers and a proof appear here."),
        predicates(),
      ),
    );
}

function stale() {
  return empty(
    "The program has an error",
    el("p", {}, "It is marked beside the text; answers come back when it is gone."),
  );
}

function predicates() {
  const rows = (session.predicates ?? []).slice(0, 16);
  if (!rows.length) return null;
  const goal = ({ name, arity }) =>
    arity ? `${name}(${"XYZUVW".slice(0, arity).split("").join(", ")})` : name;
  return el(
    "ul",
    { class: "suggestions" },
    rows
      .filter((row) => row.arity <= 6)
      .map((row) =>
        el(
          "li",
          {},
          el(
            "a",
            { href: link("ask", { q: goal(row) }) },
            el("code", {}, shortened(goal(row), 80)),
          ),
        ),
      ),
  );
}

async function answerNow(root, q, open, pad) {
  show(root, waiting("Looking for answers"));
  let result;
  try {
    result = await ask("/api/query", { query: q, top: 50, proofs: 1 });
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  const proofs = el("div", { class: "proofs" });
  show(root, summary(result), remarks(result), answerList(result, q, open), actions(q), proofs);
  if (open) await showProof(proofs, open, pad);
  else if (result.proof)
    placeProof(
      proofs,
      result.proof,
      result,
      pad,
      result.answers.length > 1 ? "Best proof" : "Proof",
    );
  else if (!result.probability && !result.upper)
    show(
      proofs,
      el(
        "p",
        { class: "soft" },
        "There is no proof. ",
        el("a", { href: link("whynot", { q }) }, "Why not?"),
      ),
    );
}

function summary(result) {
  const { exact, lower, upper } = result;
  const p = result.probability ?? lower;
  return el(
    "div",
    { class: "summary" },
    el("h2", { tabindex: "-1" }, term(result.query)),
    el(
      "div",
      { class: "headline" },
      exact
        ? el("span", { class: "big number" }, probability(p))
        : el("span", { class: "big number" }, `${probability(lower)} – ${probability(upper)}`),
      splitBar({ probability: p ?? 0, upper: upper ?? p ?? 0 }),
    ),
    el(
      "p",
      { class: "meta" },
      exact
        ? "exact"
        : [
            chip("bounds only", "warn"),
            " ",
            shortened(result.stopped ?? "the budget ended first", 300),
          ],
      ` · ${seconds(result.seconds)}`,
    ),
  );
}

function answerList(result, q, open) {
  if (!result.answers.length) return null;
  return el(
    "div",
    {},
    el(
      "h3",
      {},
      plural(result.answers.length, "answer"),
      result.complete === false && [" ", chip("not all: the budget ended first", "warn")],
    ),
    el(
      "ol",
      { class: "answer-list plain" },
      result.answers.map((answer, at) =>
        el(
          "li",
          {},
          el(
            "a",
            {
              class: "answer-open",
              href: link("ask", { q, open: answer.text }),
              "aria-current": answer.text === open ? "true" : null,
            },
            el("span", { class: "rank" }, at + 1),
            el("span", { class: "answer-name" }, term(answer.text)),
            bar(answer.probability, `probability ${probability(answer.probability)}`),
            el("span", { class: "number" }, probability(answer.probability)),
          ),
        ),
      ),
    ),
    result.more > 0 &&
      el(
        "p",
        { class: "more soft" },
        `and ${plural(result.more, "less probable answer")} that ${result.more === 1 ? "is" : "are"} not listed`,
      ),
  );
}

function actions(q) {
  return el(
    "p",
    { class: "actions" },
    el("a", { class: "button", href: link("step", { q }) }, "Step through"),
    el("a", { class: "button", href: link("graph", { q }) }, "Goal graph"),
    el("a", { class: "button", href: link("whynot", { q }) }, "Why not?"),
  );
}

async function showProof(root, query, pad) {
  show(root, waiting("Looking for the proof"));
  try {
    const found = await ask("/api/explain", { query, proofs: 1 });
    const proof = found.proofs?.[0] ?? found.proof;
    if (proof)
      placeProof(root, proof, { probability: found.probability ?? found.lower }, pad, "Proof");
    else show(root, el("p", { class: "soft" }, "No proof was found within the budget."));
  } catch (error) {
    show(root, problem(error, query));
  }
}

function placeProof(root, proof, answer, pad, title) {
  const onPlace = (place) => pad.point(place ? Number(/:(\d+)$/u.exec(place)?.[1]) || null : null);
  const card = proofCard(proof, answer, 0, { onPlace });
  card.querySelector("h4").textContent = title;
  show(root, card);
}
