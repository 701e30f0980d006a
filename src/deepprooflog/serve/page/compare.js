// Two answers side by side: which rule or which fact makes the difference.

import { failure } from "./answers.js";
import { change, proofCard } from "./detail.js";
import { el, show } from "./dom.js";
import { atom, chip, empty, splitBar, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask } from "./session.js";
import { oneLine, probability, signed } from "./text.js";

/** The view of two ground triples. */
export async function compareView(root, { left, right }) {
  if (!left || !right) {
    show(
      root,
      empty("Nothing to compare", el("p", {}, "Ask a query and tick two of its answers.")),
    );
    return;
  }
  show(root, waiting("Comparing"));
  let result;
  try {
    result = await ask("/api/compare", { left, right });
  } catch (error) {
    show(root, failure(error, null));
    return;
  }
  show(
    root,
    el("h2", {}, "Two answers compared"),
    el("p", { class: "meta" }, verdict(result)),
    figures(result),
    el(
      "div",
      { class: "two even" },
      ["left", "right"].map((name) => side(result, name)),
    ),
    both(result),
  );
}

function verdict({ difference: d }) {
  if (Math.abs(d.probability) < 5e-5) return "Both are equally probable.";
  return (
    `The first is ${d.probability > 0 ? "more" : "less"} probable by ${Math.abs(d.probability).toFixed(4)}: ` +
    `${signed(d.by_proof, 4)} by proofs${d.by_belief === null || d.by_belief === undefined ? "" : `, ${signed(d.by_belief, 4)} with belief`}.`
  );
}

function side(result, name) {
  const answer = result[name];
  const proof = answer.proofs[0];
  return el(
    "section",
    { class: "side" },
    el(
      "h3",
      { class: "answer-title" },
      el(
        "a",
        { href: link("ask", { q: answer.triple, open: answer.triple }) },
        term(answer.triple),
      ),
      answer.known && chip("known", "known"),
    ),
    el(
      "div",
      { class: "headline" },
      el("span", { class: "big number" }, probability(answer.probability)),
      splitBar(answer),
    ),
    listed("Rules only it rests on", result.rules[name], (text) => term(text)),
    listed("Facts only it rests on", result.facts[name], (text) => atom(text, true)),
    proof ? proofCard(proof, answer, 0) : el("p", { class: "soft" }, "It has no proof."),
  );
}

function figures(result) {
  const [a, b] = [result.left, result.right];
  const rows = [
    ["probability", a.probability, b.probability],
    ["by proofs", a.by_proof, b.by_proof],
    a.prior !== null && ["with belief", a.probability - a.by_proof, b.probability - b.by_proof],
    a.prior !== null && b.prior !== null && ["belief alone", a.prior, b.prior],
  ].filter(Boolean);
  return el(
    "table",
    { class: "figures" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        el("th", { scope: "col" }, el("span", { class: "unseen" }, "figure")),
        ["first", "second", "difference"].map((name) =>
          el("th", { scope: "col", class: "right" }, name),
        ),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(([name, x, y]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, name),
          el("td", { class: "number" }, probability(x)),
          el("td", { class: "number" }, probability(y)),
          el("td", { class: "number" }, change(x - y)),
        ),
      ),
    ),
  );
}

// `rows` gives each text its place.
function listed(title, rows, shown) {
  const texts = Object.entries(rows ?? {});
  return el(
    "div",
    { class: "only" },
    el("h4", {}, title),
    texts.length
      ? el(
          "ul",
          {},
          texts.map(([text, place]) =>
            el(
              "li",
              {},
              shown(text),
              place && el("span", { class: "place-plain" }, oneLine(place)),
            ),
          ),
        )
      : el("p", { class: "soft" }, "None."),
  );
}

function both(result) {
  const count = Object.keys(result.rules.both).length + Object.keys(result.facts.both).length;
  if (!count) return null;
  return el(
    "details",
    { class: "as-list" },
    el("summary", {}, `What both rest on (${count})`),
    listed("Rules", result.rules.both, (text) => term(text)),
    listed("Facts", result.facts.both, (text) => atom(text, true)),
  );
}
