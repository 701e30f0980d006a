// Why not: the nearest derivations that fail, and the facts that would complete them.

import { failure } from "./answers.js";
import { el, show } from "./dom.js";
import { atom, empty, term, waiting } from "./parts.js";
import { proofTree } from "./proof.js";
import { link } from "./routes.js";
import { ask, session } from "./session.js";
import { plural, probability } from "./text.js";

/** The view of what is missing for `q`. */
export async function whyNotView(root, { q }) {
  if (!q) {
    show(
      root,
      empty(
        "Why is something not proved?",
        el(
          "p",
          {},
          "Type a goal without variables that failed, or came out less probable than you expected.",
        ),
      ),
    );
    return;
  }
  show(root, waiting("Looking for the nearest derivations"));
  let result;
  try {
    result = await ask("/api/why_not", { query: q });
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  const { derivations } = result;
  show(
    root,
    el("h2", { class: "answer-title" }, "Why not ", term(result.query ?? q)),
    el(
      "p",
      { class: "meta" },
      "As things are, its probability is ",
      el("strong", { class: "number" }, probability(result.probability)),
      ". ",
      derivations.length
        ? `The ${derivations.length === 1 ? "nearest derivation that fails" : `${derivations.length} nearest derivations that fail`}, fewest missing facts first:`
        : "",
    ),
    result.stopped &&
      el(
        "p",
        { class: "note warn" },
        `The search was cut by ${result.stopped}: there may be nearer ones.`,
      ),
    derivations.length
      ? derivations.map(derivation)
      : empty(
          "No derivation comes near",
          el("p", {}, "No rule leads to it with only a few facts missing."),
        ),
  );
}

function derivation(one, at) {
  const linked = session.kind === "run";
  const { element, tools } = proofTree(one.steps, { linked, name: `Failed derivation ${at + 1}` });
  const q = document.getElementById("query").value.trim() || null;
  const lacking = one.missing.length
    ? plural(one.missing.length, "fact is missing", "facts are missing")
    : "No fact is missing";
  const completes =
    linked && one.missing.length > 0 && !(one.failed ?? []).length && !(one.invented ?? []).length;
  return el(
    "article",
    { class: "proof failed" },
    el("header", {}, el("h3", {}, lacking), tools),
    el(
      "div",
      { class: "lacking" },
      el(
        "ul",
        { class: "missing" },
        one.missing.map((fact) => el("li", {}, atom(fact, linked))),
        (one.failed ?? []).map((test) =>
          el("li", { class: "fails" }, term(test), el("span", { class: "soft" }, " does not hold")),
        ),
        (one.invented ?? []).map((name) =>
          el(
            "li",
            { class: "where" },
            el("span", { class: "soft" }, "where "),
            term(name),
            el("span", { class: "soft" }, " may be anything"),
          ),
        ),
      ),
      typeof one.then === "number" &&
        el(
          "p",
          { class: "then" },
          "With that, the probability would be ",
          el("strong", { class: "number" }, probability(one.then)),
          ".",
        ),
      completes &&
        el(
          "p",
          { class: "actions" },
          el(
            "a",
            { class: "button", href: link("facts", { add: one.missing.join(";"), q }) },
            one.missing.length === 1 ? "Add it and see" : "Add them and see",
          ),
        ),
    ),
    element,
  );
}
