// One answer: how probable, by what, its proofs, what belief weighs.

import { el, show } from "./dom.js";
import { atom, button, chip, problem, splitBar, waiting } from "./parts.js";
import { proofTree } from "./proof.js";
import { link } from "./routes.js";
import { ask, byWalks } from "./session.js";
import { difference, plural, probability, signed } from "./text.js";

const MORE = 12;

/** Show an answer of a graph in `root`. */
export function answerDetail(root, answer, { was, returnTo } = {}) {
  const proofs = el("div", { class: "proofs" });
  show(
    root,
    returnTo && el("p", { class: "narrow-only" }, el("a", { href: returnTo }, "← All answers")),
    el(
      "h2",
      { class: "answer-title", tabindex: "-1" },
      atom(answer.triple, true),
      answer.known && chip("known", "known"),
    ),
    el(
      "div",
      { class: "headline" },
      el("span", { class: "big number" }, probability(answer.probability)),
      was !== undefined &&
        was !== null &&
        el(
          "span",
          { class: "was" },
          "was ",
          el("span", { class: "number" }, probability(was)),
          " ",
          change(answer.probability - was),
        ),
      splitBar(answer),
    ),
    splits(answer),
    el(
      "p",
      { class: "actions" },
      el("a", { class: "button", href: link("step", { q: answer.triple }) }, "Step through"),
      !byWalks() &&
        el("a", { class: "button", href: link("whynot", { q: answer.triple }) }, "Why not more?"),
      answer.known &&
        el(
          "a",
          { class: "button", href: link("facts", { retract: answer.triple }) },
          "Without this fact",
        ),
    ),
    proofs,
    evidence(answer),
  );
  showProofs(proofs, answer, answer.proofs ?? []);
}

export function change(d) {
  const kind = Math.abs(d) < 0.00005 ? "same" : d > 0 ? "up" : "down";
  return el("span", { class: `number change ${kind}` }, difference(d));
}

function splits(answer) {
  const rest = Math.max(0, answer.probability - answer.by_proof);
  const rows = [["by-proof", "by proofs", answer.by_proof]];
  if (answer.prior !== null) rows.push(["by-belief", "with belief", rest]);
  if (answer.upper - answer.probability > 5e-5)
    rows.push(["left-open", "left open by limits", answer.upper - answer.probability]);
  if (answer.prior !== null) rows.push(["", "belief alone would say", answer.prior]);
  return el(
    "dl",
    { class: "splits" },
    rows.map(([kind, name, value]) =>
      el(
        "div",
        {},
        el("dt", {}, kind && el("i", { class: `swatch ${kind}` }), name),
        el("dd", { class: "number" }, probability(value)),
      ),
    ),
  );
}

function showProofs(root, answer, proofs) {
  if (!proofs.length) {
    show(
      root,
      el("h3", {}, "No proof"),
      el(
        "p",
        { class: "soft" },
        "Nothing but belief speaks for it. ",
        !byWalks() &&
          el(
            "a",
            { href: link("whynot", { q: answer.triple }) },
            "See the nearest derivations that fail",
          ),
      ),
    );
    return;
  }
  show(
    root,
    el(
      "h3",
      {},
      plural(proofs.length, "proof"),
      el("span", { class: "soft" }, " most probable first"),
    ),
    proofs.map((proof, at) => proofCard(proof, answer, at)),
    proofs.length < MORE &&
      button("More proofs", () => loadMore(root, answer, proofs), { class: "quiet" }),
  );
}

/** A proof with its number, its share of the answer, and its tree. */
export function proofCard(proof, answer, at, options = { linked: true }) {
  const { element, tools } = proofTree(proof, { ...options, name: `Proof ${at + 1}` });
  const share = answer.probability > 0 ? proof.probability / answer.probability : 0;
  return el(
    "article",
    { class: "proof" },
    el(
      "header",
      {},
      el("h4", {}, `Proof ${at + 1}`),
      el("span", { class: "number" }, probability(proof.probability)),
      share > 0 &&
        share <= 1.0001 &&
        el("span", { class: "soft" }, `${Math.round(100 * share)} % of the probability`),
      proof.checked &&
        el(
          "span",
          { class: "chip", title: "Each step was replayed through the program" },
          "checked",
        ),
      tools,
    ),
    element,
  );
}

async function loadMore(root, answer, proofs) {
  const note = waiting("Looking for more proofs");
  root.lastElementChild.replaceWith(note);
  try {
    const found = await ask("/api/explain", { query: answer.triple, proofs: MORE });
    showProofs(root, answer, found.proofs);
    if (found.proofs.length <= proofs.length)
      root.lastElementChild.replaceWith(
        el("p", { class: "soft" }, "There are no others within the limits."),
      );
  } catch (error) {
    note.replaceWith(problem(error));
  }
}

// What the facts about the entities add to belief's log odds.
function evidence(answer) {
  if (!answer.evidence?.length) return null;
  const most = Math.max(...answer.evidence.map((row) => Math.abs(row.log_odds)), 1e-9);
  return el(
    "section",
    { class: "evidence" },
    el("h3", {}, "What belief weighs"),
    el(
      "p",
      { class: "soft" },
      "Beside the embedding's score: other facts, and what they add to the log odds.",
    ),
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "facts"),
          el("th", { scope: "col", class: "right" }, "count"),
          el("th", { scope: "col", class: "right" }, "log odds"),
          el("th", {}, el("span", { class: "unseen" }, "as a bar")),
        ),
      ),
      el(
        "tbody",
        {},
        answer.evidence.map((row) =>
          el(
            "tr",
            {},
            el("td", {}, el("code", { class: "term" }, row.facts)),
            el("td", { class: "number" }, row.count.toLocaleString("en")),
            el("td", { class: "number" }, signed(row.log_odds)),
            el(
              "td",
              {},
              el("span", {
                class: `odds ${row.log_odds < 0 ? "minus" : "plus"}`,
                "--share": `${(50 * Math.abs(row.log_odds)) / most}%`,
              }),
            ),
          ),
        ),
      ),
    ),
  );
}
