// A derivation step by step, as the policy sees it: each goal, all its choices, back and forth.

import { failure } from "./answers.js";
import { el, show } from "./dom.js";
import { bar, button, chip, empty, term, waiting } from "./parts.js";
import { go, link } from "./routes.js";
import { ask } from "./session.js";
import { oneLine, plural, probability, spaced } from "./text.js";

/** The view of one goal of a derivation of `q`, reached by the choices of `path`. */
export async function stepView(root, { q, path = "", ahead = "" }) {
  if (!q) {
    show(
      root,
      empty(
        "No query to step through",
        el("p", {}, "Ask a query above: its first goal and all choices there are shown here."),
      ),
    );
    return;
  }
  const numbers = read(path);
  const later = read(ahead);
  const taken = [];
  let here;
  if (!root.childElementCount) show(root, waiting("Looking for the choices"));
  try {
    // Each goal of the way is asked for: what is known already costs nothing.
    for (let length = 0; length <= numbers.length; length += 1) {
      here = await ask("/api/steps", { query: q, path: numbers.slice(0, length) });
      if (!root.isConnected) return; // another view has taken over: it is the one that asks
      if (length < numbers.length)
        taken.push({
          goal: here.goal,
          choice: here.choices.find((one) => one.number === numbers[length]),
        });
    }
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  const to = (length) =>
    link("step", {
      q,
      path: numbers.slice(0, length).join(".") || null,
      ahead: [...numbers.slice(length), ...later].join(".") || null,
    });
  const take = (number) => {
    const same = later[0] === number;
    go("step", {
      q,
      path: [...numbers, number].join("."),
      ahead: same && later.length > 1 ? later.slice(1).join(".") : null,
    });
  };
  show(
    root,
    el(
      "div",
      { class: "two even stepping" },
      el("section", { "aria-label": "The way so far" }, way(taken, here, to)),
      el("section", { "aria-label": "This goal" }, goalNow(here, numbers, later, take, to)),
    ),
  );
  (
    root.querySelector(".choice[data-ahead]") ??
    root.querySelector(".choice") ??
    root.querySelector(".ending")
  )?.focus({ preventScroll: true });
}

const read = (text) => (text ? text.split(".").map(Number) : []);

function way(taken, here, to) {
  return [
    el("h2", {}, "The way so far"),
    el(
      "p",
      { class: "meta" },
      plural(taken.length, "step"),
      " · probability ",
      el("span", { class: "number" }, probability(here.probability)),
    ),
    el(
      "ol",
      { class: "way" },
      taken.map((step, at) =>
        el(
          "li",
          {},
          el("a", { href: to(at), title: "Back to this goal" }, term(step.goal || "true")),
          el(
            "span",
            { class: "way-choice" },
            step.choice && [
              el(
                "code",
                { class: "reason" },
                spaced(oneLine(step.choice.clause ?? step.choice.kind)).slice(0, 300),
              ),
              el("span", { class: "number" }, probability(step.choice.probability)),
            ],
          ),
        ),
      ),
      el("li", { "aria-current": "step" }, term(here.goal || "true")),
    ),
    Object.keys(here.bindings ?? {}).length > 0 &&
      el("p", { class: "meta" }, "so far ", term(bound(here.bindings))),
  ];
}

function goalNow(here, numbers, later, take, to) {
  const tools = el(
    "p",
    { class: "actions" },
    numbers.length
      ? el("a", { class: "button", href: to(numbers.length - 1) }, "← Back")
      : button("← Back", null, { disabled: true }),
    later.length
      ? button("Forth →", () => take(later[0]))
      : button("Forth →", null, { disabled: true }),
    numbers.length > 0 && el("a", { class: "button", href: to(0) }, "From the start"),
  );
  if (here.is_true)
    return [
      el("h2", { class: "ending", tabindex: "-1" }, "True"),
      tools,
      el("p", { class: "note good" }, "The derivation is complete: this is a proof."),
    ];
  if (here.is_dead || !here.choices.length)
    return [
      el("h2", { class: "ending", tabindex: "-1" }, "No choice left"),
      tools,
      el("p", { class: "note bad" }, "No clause resolves this goal: the derivation fails here."),
    ];
  return [
    el("h2", {}, plural(here.choices.length, "choice")),
    el("p", { class: "goal-now" }, term(here.goal)),
    tools,
    el(
      "ol",
      { class: "choices", onkeydown: (event) => moveAmong(event, numbers, to) },
      here.choices.map((choice) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "choice",
              "data-ahead": later[0] === choice.number,
              onclick: () => take(choice.number),
            },
            el(
              "span",
              { class: "choice-head" },
              choice.clause ? term(choice.clause) : term(choice.kind),
              choice.kind && chip(choice.kind, choice.kind),
            ),
            el(
              "span",
              { class: "step-number" },
              bar(choice.probability, `probability ${probability(choice.probability)}`),
              el("span", { class: "number" }, probability(choice.probability)),
            ),
            el(
              "span",
              { class: "choice-more" },
              choice.substitution &&
                Object.keys(choice.substitution).length > 0 &&
                el("span", {}, bound(choice.substitution)),
              el(
                "span",
                { class: "then" },
                "→ ",
                spaced(oneLine(choice.goal || "true")).slice(0, 400),
              ),
              choice.place && el("span", { class: "place-plain" }, oneLine(choice.place)),
            ),
          ),
        ),
      ),
    ),
    here.complete === false &&
      el("p", { class: "note warn" }, "There are more choices than are listed."),
    here.failing > 5e-5 &&
      el(
        "p",
        { class: "soft" },
        "With probability ",
        el("span", { class: "number" }, probability(here.failing)),
        " none of them is taken: the derivation fails.",
      ),
    el("p", { class: "soft small" }, "Arrow keys move, Enter takes, Backspace goes back."),
  ];
}

function bound(substitution) {
  const rows = Object.entries(substitution ?? {});
  return rows.map(([name, value]) => `${name} = ${oneLine(value).slice(0, 120)}`).join(", ");
}

function moveAmong(event, numbers, to) {
  const rows = [...event.currentTarget.querySelectorAll(".choice")];
  const at = rows.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (next !== undefined) {
    event.preventDefault();
    rows[next]?.focus();
  } else if (event.key === "Backspace" && numbers.length) {
    event.preventDefault();
    location.hash = to(numbers.length - 1);
  }
}
