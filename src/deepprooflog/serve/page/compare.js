// Two answers side by side: which rule or which fact makes the difference.

import { failure } from "./answers.js";
import { change } from "./detail.js";
import { proofCard } from "./detail.js";
import { el, show } from "./dom.js";
import { atom, chip, splitBar, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask } from "./session.js";
import { probability } from "./text.js";

/** The view of two ground triples. */
export async function compareView(root, { left, right }) {
  show(root, waiting("Comparing"));
  let result;
  let answers;
  try {
    result = await ask("/api/compare", { left, right });
    answers = [];
    for (const query of [left, right]) answers.push(await ask("/api/explain", { query, proofs: 3 }));
  } catch (error) {
    show(root, failure(error, null));
    return;
  }
  const sides = ["left", "right"].map((name, at) => ({ ...answers[at], only: only(result, name) }));
  const d = sides[0].probability - sides[1].probability;
  show(root,
    el("h2", {}, "Two answers compared"),
    el("p", { class: "meta" }, "The first is ", Math.abs(d) < 5e-5 ? "as probable as the second" : [d > 0 ? "more" : "less", " probable by ", change(d).textContent.slice(1)], "."),
    figures(sides),
    el("div", { class: "two even" }, sides.map((side) => el("section", { class: "side" },
      el("h3", { class: "answer-title" }, el("a", { href: link("ask", { q: side.triple, open: side.triple }) }, term(side.triple)), side.known && chip("known", "known")),
      el("div", { class: "headline" }, el("span", { class: "big number" }, probability(side.probability)), splitBar(side)),
      list("Rules only it has", side.only.rules, (text) => term(text)),
      list("Facts only it has", side.only.facts, (text) => atom(text, true)),
      (side.proofs ?? []).slice(0, 1).map((proof, at) => proofCard(proof, side, at))))));
}

function only(result, side) {
  const part = result[side] ?? {};
  const texts = (rows) => (rows ?? []).map((row) => (typeof row === "string" ? row : row.text ?? row.clause ?? row.fact));
  return {
    rules: texts(part.rules ?? result[`rules_only_${side}`] ?? result.rules?.[side]),
    facts: texts(part.facts ?? result[`facts_only_${side}`] ?? result.facts?.[side]),
  };
}

function figures([a, b]) {
  const rows = [
    ["probability", a.probability, b.probability],
    ["by proofs", a.by_proof, b.by_proof],
    ["with belief", a.probability - a.by_proof, b.probability - b.by_proof],
    a.prior !== null && b.prior !== null && ["belief alone", a.prior, b.prior],
  ].filter(Boolean);
  return el("table", { class: "figures" },
    el("thead", {}, el("tr", {}, ["", "first", "second", "difference"].map((name, at) => el("th", { scope: "col", class: at ? "right" : null }, name)))),
    el("tbody", {}, rows.map(([name, x, y]) => el("tr", {}, el("th", { scope: "row" }, name),
      el("td", { class: "number" }, probability(x)), el("td", { class: "number" }, probability(y)), el("td", { class: "number" }, change(x - y))))));
}

function list(title, rows, shown) {
  return el("div", { class: "only" }, el("h4", {}, title),
    rows.length ? el("ul", {}, rows.map((row) => el("li", {}, shown(row)))) : el("p", { class: "soft" }, "None."));
}
