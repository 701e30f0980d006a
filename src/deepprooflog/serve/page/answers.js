// The answers of a query, ranked, and one of them opened beside the list.

import { el, show } from "./dom.js";
import { answerDetail } from "./detail.js";
import { button, chip, empty, legend, problem, remarks, splitBar, term, waiting } from "./parts.js";
import { variables } from "./prolog.js";
import { go, link } from "./routes.js";
import { ask, before, changed, session, Stopped } from "./session.js";
import { difference, plural, probability, seconds, shortened } from "./text.js";

const TOP = 10;
/** What a query asks for beside its text: the same everywhere, so that answers can be compared. */
export const ASKED = { top: TOP, proofs: 3 };
const chosen = new Set(); // triples ticked for comparison

export const isWide = () => matchMedia("(min-width: 64rem)").matches;

/** The view of a run's answers. */
export async function answersView(root, { q, open, top }) {
  if (!q) {
    show(root, invitation());
    return;
  }
  show(root, waiting("Looking for answers"));
  const most = Number(top) || TOP;
  let result;
  try {
    result = await ask("/api/query", { query: q, ...ASKED, top: most });
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  if (!result.answers.length) {
    show(root, noAnswer(q));
    return;
  }
  const list = el("section", { class: "answers", "aria-label": "Answers" });
  const detail = el("section", { class: "detail", "aria-label": "The opened answer" });
  show(root, el("div", { class: open ? "two opened" : "two" }, list, detail));
  show(
    list,
    head(result),
    remarks(result),
    compareBar(),
    table(result, q, open, most),
    more(result, q, most),
  );
  const first = result.answers.length === 1 || isWide() ? result.answers[0].triple : null;
  const picked = result.answers.find((one) => one.triple === (open ?? first));
  if (picked) {
    answerDetail(detail, picked, { was: earlier(q, picked), returnTo: link("ask", { q }) });
    if (open && !isWide()) window.scrollTo(0, 0);
  }
}

/** What to say when a query gave no result. */
export function failure(error, text) {
  if (error instanceof Stopped) {
    return empty(
      "Stopped",
      el("p", {}, "The query was stopped before it ended; nothing is known about it."),
    );
  }
  return problem(error, text);
}

function head(result) {
  return el(
    "div",
    { class: "list-head" },
    el("h2", { tabindex: "-1" }, plural(result.answers.length, "answer")),
    el(
      "p",
      { class: "meta" },
      `${plural(result.candidates, "candidate")} scored · ${seconds(result.seconds)}`,
    ),
    legend(result.answers[0].prior !== null),
  );
}

function earlier(q, answer) {
  const result = before(q);
  if (!result) return undefined;
  return result.answers.find((one) => one.triple === answer.triple)?.probability ?? null;
}

function table(result, q, open, most) {
  const selected = open ?? (isWide() ? result.answers[0].triple : null);
  const heads = el(
    "p",
    { class: "answer-heads", "aria-hidden": "true" },
    el("span", {}, "answer"),
    el("span", {}, "probability"),
    el("span", {}, "compare"),
  );
  return el(
    "div",
    { class: "answer-box" },
    heads,
    el(
      "ol",
      { class: "answer-list", onkeydown: move },
      result.answers.map((answer, at) => {
        const was = earlier(q, answer);
        const row = el(
          "a",
          {
            class: "answer-open",
            href: link("ask", { q, open: answer.triple, top: most === TOP ? null : most }),
            "aria-current": answer.triple === selected ? "true" : null,
          },
          el("span", { class: "rank" }, at + 1),
          el(
            "span",
            { class: "answer-name" },
            named(answer),
            answer.known && chip("known", "known"),
          ),
          splitBar(answer),
          el("span", { class: "number" }, probability(answer.probability)),
          el("span", { class: "split" }, splitText(answer, was)),
        );
        return el(
          "li",
          { class: answer.triple === selected ? "current" : null },
          row,
          tick(answer),
        );
      }),
    ),
  );
}

function named(answer) {
  const bound = Object.entries(answer.bindings);
  if (!bound.length) return term(answer.triple);
  return bound.map(([name, value], at) => [
    at ? ", " : "",
    el("span", { class: "variable" }, `${name} = `),
    el("code", { class: "term" }, shortened(value, 160)),
    answer.labels?.[value] &&
      el("span", { class: "soft" }, ` ${shortened(answer.labels[value], 80)}`),
  ]);
}

function splitText(answer, was) {
  const parts = [`proofs ${probability(answer.by_proof)}`];
  if (answer.prior !== null)
    parts.push(`belief ${probability(Math.max(0, answer.probability - answer.by_proof))}`);
  if (was === undefined) return parts.join(" + ");
  if (was === null) return "was not among the answers";
  return `was ${probability(was)}, ${difference(answer.probability - was)}`;
}

function tick(answer) {
  return el(
    "label",
    { class: "tick", title: "Compare" },
    el("input", {
      type: "checkbox",
      checked: chosen.has(answer.triple),
      "aria-label": `Compare ${shortened(answer.triple, 120)}`,
      onchange: (event) => {
        if (event.target.checked) chosen.add(answer.triple);
        else chosen.delete(answer.triple);
        show(document.getElementById("compare-bar"), compareTools());
      },
    }),
  );
}

function compareBar() {
  return el(
    "div",
    { id: "compare-bar", class: "compare-bar", "aria-live": "polite" },
    compareTools(),
  );
}

function compareTools() {
  if (!chosen.size) return null;
  const two = [...chosen];
  const clear = button(
    "Clear",
    () => {
      chosen.clear();
      for (const box of document.querySelectorAll(".tick input")) box.checked = false;
      show(document.getElementById("compare-bar"));
    },
    { class: "quiet" },
  );
  if (two.length !== 2) {
    return [
      el(
        "span",
        {},
        two.length === 1 ? "Tick another answer to compare" : "Tick only two answers to compare",
      ),
      clear,
    ];
  }
  return [
    el("span", {}, "Two answers are ticked"),
    button("Compare them", () =>
      go("compare", {
        left: two[0],
        right: two[1],
        q: document.getElementById("query").value.trim() || null,
      }),
    ),
    clear,
  ];
}

function more(result, q, most) {
  if (result.answers.length < most) return null;
  return el(
    "p",
    { class: "more" },
    el("a", { href: link("ask", { q, top: most * 2 }) }, `Show up to ${most * 2}`),
  );
}

function move(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by || !event.target.classList.contains("answer-open")) return;
  const rows = [...event.currentTarget.querySelectorAll(".answer-open")];
  event.preventDefault();
  rows[rows.indexOf(event.target) + by]?.focus();
}

function noAnswer(q) {
  const ground = variables(q).length === 0;
  return empty(
    "No answer",
    el(
      "p",
      {},
      changed()
        ? "With the changed facts, no proof was found and nothing is believed."
        : "No proof was found, and nothing is believed.",
    ),
    ground && el("p", {}, el("a", { class: "button", href: link("whynot", { q }) }, "Why not?")),
  );
}

// Shown before anything is asked.
function invitation() {
  const { graph = {} } = session;
  const relations = graph.relations ?? [];
  return el(
    "div",
    { class: "invitation" },
    el("h2", {}, "Ask about the graph"),
    el(
      "p",
      { class: "soft" },
      "A relation with a variable for what you look for. Names complete as you type.",
    ),
    el(
      "ul",
      { class: "suggestions" },
      relations
        .slice(0, 24)
        .map((name) =>
          el(
            "li",
            {},
            el(
              "a",
              { href: link("ask", { q: `${name}(X, Y)` }) },
              el("code", {}, `${shortened(name, 60)}(X, Y)`),
            ),
          ),
        ),
    ),
    counts(graph),
  );
}

function counts(graph) {
  const rows = [
    ["entities", graph.entities],
    ["relations", graph.relations?.length],
    ["facts known", graph.triples?.train],
    ["rules", graph.rules],
    ["prior", graph.prior ?? "none"],
    ["learner", graph.learner],
  ].filter(([, value]) => value !== undefined);
  return el(
    "dl",
    { class: "counts" },
    rows.map(([name, value]) =>
      el(
        "div",
        {},
        el("dt", {}, name),
        el("dd", {}, typeof value === "number" ? value.toLocaleString("en") : value),
      ),
    ),
  );
}
