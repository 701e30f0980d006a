// The goal graph of a query, drawn in layers; it zooms and moves by mouse and by keyboard.

import { failure } from "./answers.js";
import { el, show, svg } from "./dom.js";
import { layered } from "./layers.js";
import { button, empty, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask } from "./session.js";
import { oneLine, plural, probability } from "./text.js";

const MOST = 300;
const READABLE = { width: 1240, height: 620 };

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
  const { element, tools } = picture(graph, q);
  show(
    root,
    el(
      "div",
      { class: "list-head" },
      el("h2", {}, "Goals of ", term(q)),
      el(
        "p",
        { class: "meta" },
        `${plural(graph.nodes.length, "goal")}, ${plural(graph.edges.length, "step")}`,
        graph.complete ? "" : ` · cut by ${graph.stopped}: there are more`,
      ),
    ),
    tools,
    element,
    asList(graph),
    el(
      "p",
      { class: "actions" },
      el("a", { class: "button", href: link("step", { q }) }, "Step through"),
    ),
  );
}

function picture(graph, q) {
  const { boxes, paths, width, height } = layered(graph, (text) => oneLine(text || "true"));
  const view = { x: 0, y: 0, width, height };
  const drawing = svg(
    "svg",
    {
      class: "goals",
      tabindex: "0",
      role: "img",
      "aria-label": `Goal graph of ${oneLine(q).slice(0, 200)}: ${plural(graph.nodes.length, "goal")}. Arrow keys move, plus and minus zoom, 0 shows all.`,
    },
    svg(
      "defs",
      {},
      svg(
        "marker",
        {
          id: "tip",
          viewBox: "0 0 8 8",
          refX: 7,
          refY: 4,
          markerWidth: 7,
          markerHeight: 7,
          orient: "auto",
        },
        svg("path", { d: "M0 0L8 4L0 8z", class: "tip" }),
      ),
    ),
    paths.map(({ d, x, y, edge, back }) =>
      svg(
        "g",
        { class: back ? "edge back" : "edge" },
        svg(
          "path",
          { d, "marker-end": "url(#tip)" },
          svg("title", {}, `${probability(edge.probability)}  ${oneLine(edge.clause ?? "")}`),
        ),
        edge.probability < 1 &&
          svg(
            "text",
            { x, y, "text-anchor": "middle" },
            probability(edge.probability).replace(/0+$/u, ""),
          ),
      ),
    ),
    boxes.map(({ x, y, width: w, height: h, label, node }) =>
      svg(
        "g",
        { class: `goal ${node.kind ?? ""}` },
        svg("title", {}, oneLine(node.goal || "true").slice(0, 2000)),
        svg("rect", { x, y, width: w, height: h, rx: 6 }),
        svg("text", { x: x + w / 2, y: y + h / 2 + 4, "text-anchor": "middle" }, label),
      ),
    ),
  );
  const box = el("div", { class: "goals-box" }, drawing);
  const place = () =>
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  const whole = () => {
    Object.assign(view, { x: 0, y: 0, width, height });
    place();
  };
  const zoom = (by, cx = view.x + view.width / 2, cy = view.y + view.height / 2) => {
    const size = Math.min(Math.max(view.width * by, 120), width * 4) / view.width;
    view.x = cx - (cx - view.x) * size;
    view.y = cy - (cy - view.y) * size;
    view.width *= size;
    view.height *= size;
    place();
  };
  const pan = (dx, dy) => {
    view.x += dx * view.width;
    view.y += dy * view.height;
    place();
  };
  const keys = {
    ArrowLeft: () => pan(-0.1, 0),
    ArrowRight: () => pan(0.1, 0),
    ArrowUp: () => pan(0, -0.1),
    ArrowDown: () => pan(0, 0.1),
    "+": () => zoom(0.8),
    "=": () => zoom(0.8),
    "-": () => zoom(1.25),
    0: whole,
  };
  drawing.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  // The wheel alone scrolls the page; with Control it zooms, as maps do.
  drawing.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const rect = drawing.getBoundingClientRect();
      zoom(
        event.deltaY > 0 ? 1.1 : 0.9,
        view.x + ((event.clientX - rect.left) / rect.width) * view.width,
        view.y + ((event.clientY - rect.top) / rect.height) * view.height,
      );
    },
    { passive: false },
  );
  let held = null;
  drawing.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    const rect = drawing.getBoundingClientRect();
    pan((held[0] - event.clientX) / rect.width, (held[1] - event.clientY) / rect.height);
    held = [event.clientX, event.clientY];
  });
  for (const name of ["pointerup", "pointercancel"])
    drawing.addEventListener(name, () => {
      held = null;
    });
  // A graph too large to be read as a whole is first shown from the query on, in its own size.
  if (width > 1.3 * READABLE.width || height > 1.3 * READABLE.height) {
    Object.assign(view, READABLE, {
      x: boxes[0].x + boxes[0].width / 2 - READABLE.width / 2,
      y: 0,
    });
  }
  place();
  return {
    element: box,
    tools: el(
      "p",
      { class: "actions" },
      button("+", () => zoom(0.8), { "aria-label": "Zoom in" }),
      button("−", () => zoom(1.25), { "aria-label": "Zoom out" }),
      button("Show all", whole),
    ),
  };
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
