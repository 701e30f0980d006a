// What a fact supports: the triples that one rule concludes from it and other facts.

import { failure } from "./answers.js";
import { el, show } from "./dom.js";
import { atom, chip, empty, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask } from "./session.js";
import { oneLine, plural, shortened, spaced } from "./text.js";

/** The view of all that `fact` supports; `of` is the answer in whose proof it was met. */
export async function supportsView(root, { fact, of = null }) {
  if (!fact) {
    show(root, empty("No fact chosen", el("p", {}, "Open a fact of a proof, or one of the list.")));
    return;
  }
  show(root, waiting("Looking for what it supports"));
  let result;
  try {
    result = await ask("/api/supports", { query: fact });
  } catch (error) {
    show(root, failure(error, fact));
    return;
  }
  const { told, triples } = result;
  show(
    root,
    of && el("p", {}, el("a", { href: link("ask", { q: of, open: of }) }, "← ", shortened(of, 80))),
    el(
      "h2",
      { class: "answer-title", tabindex: "-1" },
      "What is supported by ",
      atom(result.fact, true),
    ),
    el("p", { class: "meta" }, summary(told, triples)),
    result.stopped &&
      el("p", { class: "note warn" }, `Cut by ${result.stopped}: it may support more.`),
    triples.length
      ? el(
          "ol",
          { class: "supported", "aria-label": "Supported triples" },
          triples.map((one) => row(one, of)),
        )
      : empty(
          "Nothing through one rule",
          el("p", {}, "No rule has it in its body, or what else the body asks for is no fact."),
        ),
    result.passed_over.length > 0 && passedOver(result.passed_over),
  );
}

function summary(told, triples) {
  const counted = plural(triples.length, "triple");
  const needing = triples.filter((one) => one.needs_it).length;
  const start = told
    ? `Rules conclude ${counted} from it and other facts.`
    : `It is no fact. If it were one, rules would conclude ${counted} from it and other facts.`;
  if (!needing) return start;
  return `${start} ${needing.toLocaleString("en")} could not be concluded without it.`;
}

const bare = (text) => text.replace(/\s+/gu, "");

function row(one, of) {
  return el(
    "li",
    {},
    el(
      "p",
      { class: "supported-head" },
      el("a", { href: link("ask", { q: one.triple, open: one.triple }) }, term(one.triple)),
      of !== null && bare(of) === bare(one.triple) && chip("the one at hand", "rule"),
      one.known && chip("known", "known"),
      one.needs_it && chip("needs it", "warn"),
      el(
        "a",
        {
          class: "onward",
          href: link("supports", { fact: one.triple }),
          "aria-label": `What ${shortened(one.triple, 120)} supports`,
        },
        "supports →",
      ),
    ),
    el("p", { class: "supported-rule" }, el("code", { class: "reason" }, shortened(one.rule, 600)), place(one.place)),
    one.facts.length > 0 &&
      el(
        "p",
        { class: "with-facts" },
        el("span", { class: "soft" }, "with "),
        one.facts.map((fact, at) => [
          at ? ", " : "",
          el(
            "a",
            {
              class: "entity",
              href: link("supports", { fact, of: one.triple }),
              title: "What it supports",
            },
            shortened(spaced(fact), 200),
          ),
        ]),
        one.ways > 1 &&
          el("span", { class: "soft" }, ` (one of ${one.ways.toLocaleString("en")} ways)`),
      ),
  );
}

const place = (text) => text && el("span", { class: "place-plain" }, oneLine(text));

function passedOver(rules) {
  return el(
    "details",
    { class: "as-list" },
    el("summary", {}, `${plural(rules.length, "rule")} not looked at`),
    el(
      "p",
      { class: "soft" },
      "Facts alone do not decide them: they ask for more than relations of the graph.",
    ),
    el(
      "ul",
      {},
      rules.map((rule) => el("li", {}, term(rule))),
    ),
  );
}
