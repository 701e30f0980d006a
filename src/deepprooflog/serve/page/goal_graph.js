// The goal graph of a query: the drawing, one goal of it with its steps, and all steps as a list.

import { failure } from "./answers.js";
import { el, show } from "./dom.js";
import { picture } from "./goal_picture.js";
import { button, chip, empty, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask } from "./session.js";
import { oneLine, plural, probability, shortened, spaced } from "./text.js";

const MOST = 300;
const KINDS = {
  query: "the query",
  true: "a proof ends here",
  dead: "no step leads on",
  open: "not explored further",
};

/** The view of the goal graph of `q`. */
export async function graphView(root, { q }) {
  if (!q) {
    show(
      root,
      empty(
        "No query to draw",
        el("p", {}, "Ask a query above: the goals it leads to are drawn here."),
      ),
    );
    return;
  }
  show(root, waiting("Exploring goals"));
  let graph;
  try {
    graph = await ask("/api/graph", { query: q, most: MOST });
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  const chosen = el("section", { class: "chosen-goal", "aria-label": "The chosen goal" });
  const { element, tools, choose } = picture(graph, q, (id) => {
    show(chosen, oneGoal(graph, id, choose));
  });
  show(
    root,
    el(
      "div",
      { class: "list-head" },
      el("h2", {}, "Goals of ", el("code", { class: "term" }, shortened(spaced(oneLine(q)), 160))),
      el(
        "p",
        { class: "meta" },
        `${plural(graph.nodes.length, "goal")}, ${plural(graph.edges.length, "step")}`,
        graph.complete ? "" : ` · cut by ${graph.stopped}: there are more`,
      ),
    ),
    tools,
    element,
    chosen,
    asList(graph),
    el(
      "p",
      { class: "actions" },
      el("a", { class: "button", href: link("step", { q }) }, "Step through"),
    ),
  );
  choose(graph.nodes[0].id, { move: false });
}

// The goal that was chosen: its whole text, and the steps by which to go on in the drawing.
function oneGoal(graph, id, choose) {
  const goals = new Map(graph.nodes.map((node) => [node.id, node]));
  const node = goals.get(id);
  const step = (edge, other) =>
    el(
      "li",
      {},
      button(
        [
          el("span", { class: "number" }, probability(edge.probability)),
          el("code", { class: "term" }, shortened(goals.get(other).goal || "true", 160)),
          edge.clause && el("code", { class: "reason" }, shortened(edge.clause, 160)),
        ],
        () => {
          choose(other);
          document.querySelector(".chosen-goal .goal-now")?.focus({ preventScroll: true });
        },
        { class: "goal-step" },
      ),
    );
  const steps = (title, edges, other) =>
    edges.length > 0 &&
    el(
      "div",
      {},
      el("h3", {}, `${title} `, el("span", { class: "soft" }, plural(edges.length, "step"))),
      el(
        "ul",
        { class: "goal-steps", tabindex: "0", "aria-label": title },
        edges.map((edge) => step(edge, edge[other])),
      ),
    );
  return [
    el(
      "p",
      { class: "goal-now", role: "status", tabindex: "-1" },
      term(node.goal || "true"),
      KINDS[node.kind] && [" ", chip(KINDS[node.kind], node.kind === "true" ? "known" : "")],
    ),
    el(
      "div",
      { class: "two even" },
      steps(
        "Comes from",
        graph.edges.filter((edge) => edge.to === id),
        "from",
      ),
      steps(
        "Leads to",
        graph.edges.filter((edge) => edge.from === id),
        "to",
      ),
    ),
  ];
}

// The same goals as text, for those who do not see the drawing.
function asList(graph) {
  const goals = new Map(graph.nodes.map((node) => [node.id, oneLine(node.goal || "true")]));
  return el(
    "details",
    { class: "as-list" },
    el("summary", {}, "The steps as a list"),
    el(
      "div",
      { class: "table-box", tabindex: "0", role: "region", "aria-label": "Steps" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ["goal", "probability", "clause", "next goal"].map((name) =>
              el("th", { scope: "col" }, name),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          graph.edges.map((edge) =>
            el(
              "tr",
              {},
              el("td", {}, term(goals.get(edge.from))),
              el("td", { class: "number" }, probability(edge.probability)),
              el("td", {}, term(edge.clause ?? "")),
              el("td", {}, term(goals.get(edge.to))),
            ),
          ),
        ),
      ),
    ),
  );
}
