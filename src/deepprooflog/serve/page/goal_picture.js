// The drawing of a goal graph; it zooms and moves by mouse and by keyboard, a map shows where.

import { el, svg } from "./dom.js";
import { layered } from "./layers.js";
import { button } from "./parts.js";
import { oneLine, plural, probability } from "./text.js";

const READABLE = { width: 1240, height: 620 };
const MARGIN = 18;
const DRAG = 4; // pixels from which on a press is no click

/** The drawing of `graph`, its tools, and `choose`, which marks a goal; `onChosen` hears its id. */
export function picture(graph, q, onChosen) {
  const name = (goal) => oneLine(goal || "true");
  const { boxes, frames, paths, width, height, way } = layered(graph, name, READABLE);
  const view = { x: 0, y: 0, width, height };
  const steps = paths.map(edgeShape);
  const goals = boxes.map(goalShape);
  const drawing = svg(
    "svg",
    {
      class: "goals",
      tabindex: "0",
      role: "img",
      "aria-label": `Goal graph of ${oneLine(q).slice(0, 200)}: ${plural(graph.nodes.length, "goal")}. Arrow keys move, plus and minus zoom, 0 shows all.`,
    },
    svg("defs", {}, tip("tip"), tip("tip-near")),
    frames.map(frameShape),
    steps.map((one) => one.shape),
    goals,
  );
  const map = overview(boxes, width, height, (x, y) => {
    view.x = x - view.width / 2;
    view.y = y - view.height / 2;
    place();
  });
  function place() {
    drawing.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
    map.frame(view);
  }
  const whole = () => {
    Object.assign(view, { x: 0, y: 0, width, height });
    place();
  };
  const zoom = (by, cx = view.x + view.width / 2, cy = view.y + view.height / 2) => {
    const most = Math.max(width, READABLE.width) * 4;
    const size = Math.min(Math.max(view.width * by, 120), most) / view.width;
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
  // A goal may stand several times (true does): all of them are marked, the first is shown.
  const choose = (id, { move = true } = {}) => {
    goals.forEach((shape, at) => shape.classList.toggle("chosen", goalOf(boxes[at]) === id));
    for (const { shape, edge } of steps) {
      const to = edge.members?.map((one) => one.to) ?? [edge.goal ?? edge.to];
      shape.classList.toggle("near", edge.from === id || to.includes(id));
    }
    const box = boxes.find((one) => goalOf(one) === id);
    if (move && !inside(view, box)) {
      const [w, h] = [Math.min(view.width, READABLE.width), Math.min(view.height, READABLE.height)];
      const [x, y] = [box.x + box.width / 2 - w / 2, box.y + box.height / 2 - h / 2];
      Object.assign(view, { x, y, width: w, height: h });
      place();
    }
    onChosen(id);
  };
  wire(drawing, view, { zoom, pan, whole }, (target) => {
    const at = goals.indexOf(target.closest(".goal"));
    if (at >= 0) choose(goalOf(boxes[at]), { move: false });
  });
  // A graph too large to be read as a whole is first shown from the query on, in its own size.
  const large = width > 1.3 * READABLE.width || height > 1.3 * READABLE.height;
  const query = boxes.find((box) => box.node.kind === "query") ?? boxes[0];
  const start = () => {
    const rows = way === "rows";
    Object.assign(view, READABLE, {
      x: rows ? query.x + (query.width - READABLE.width) / 2 : query.x - MARGIN,
      y: rows ? query.y - MARGIN : query.y + (query.height - READABLE.height) / 2,
    });
    place();
  };
  if (large) start();
  else whole();
  return {
    element: el("div", { class: "goals-box" }, drawing, large && map.element),
    choose,
    tools: el(
      "p",
      { class: "actions" },
      button("+", () => zoom(0.8), { "aria-label": "Zoom in" }),
      button("−", () => zoom(1.25), { "aria-label": "Zoom out" }),
      button("Show all", whole),
      large && button("To the query", start),
    ),
  };
}

const goalOf = (box) => box.node.of ?? box.node.id;

const inside = (view, box) =>
  box.x >= view.x &&
  box.y >= view.y &&
  box.x + box.width <= view.x + view.width &&
  box.y + box.height <= view.y + view.height;

function tip(id) {
  const size = { refX: 7, refY: 4, markerWidth: 7, markerHeight: 7 };
  return svg(
    "marker",
    { id, viewBox: "0 0 8 8", ...size, orient: "auto", markerUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 0L8 4L0 8z", class: id }),
  );
}

// A step, or all steps to a block of goals, with how many they are.
function edgeShape({ d, x, y, edge, back }) {
  const lines = (edge.members ?? [edge]).map(
    (one) => `${probability(one.probability)}  ${oneLine(one.clause ?? "")}`,
  );
  const label = edge.members
    ? plural(edge.members.length, "step")
    : edge.probability < 1 && probability(edge.probability).replace(/0+$/u, "");
  const shape = svg(
    "g",
    { class: ["edge", back && "back", edge.members && "bundle"].filter(Boolean).join(" ") },
    svg("path", { d }, svg("title", {}, lines.slice(0, 20).join("\n"))),
    label && svg("text", { x, y, "text-anchor": "middle" }, label),
  );
  return { shape, edge };
}

function frameShape({ x, y, width, height }) {
  return svg("rect", { class: "frame", x, y, width, height, rx: 8 });
}

function goalShape({ x, y, width, height, label, node }) {
  return svg(
    "g",
    { class: `goal ${node.kind ?? ""}` },
    svg("title", {}, oneLine(node.goal || "true").slice(0, 2000)),
    svg("rect", { x, y, width, height, rx: 6 }),
    svg("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" }, label),
  );
}

// All goals as dots, with the part that is shown; a press goes there. The keyboard has its arrows.
function overview(boxes, width, height, goTo) {
  const part = svg("rect", { class: "part" });
  const element = svg(
    "svg",
    {
      class: "goals-map",
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: "xMidYMid meet",
      "aria-hidden": "true",
    },
    svg("rect", { class: "ground", width, height }),
    boxes.map((box) =>
      svg("rect", {
        class: `dot ${box.node.kind ?? ""}`,
        x: box.x,
        y: box.y,
        width: box.width,
        height: box.height,
      }),
    ),
    part,
  );
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    const { x, y } = point.matrixTransform(element.getScreenCTM().inverse());
    goTo(x, y);
  };
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    at(event);
  });
  element.addEventListener("pointermove", (event) => {
    if (event.buttons) at(event);
  });
  const frame = (view) => {
    for (const name of ["x", "y", "width", "height"]) part.setAttribute(name, view[name]);
  };
  return { element, frame };
}

function wire(drawing, view, { zoom, pan, whole }, onPress) {
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
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = point.matrixTransform(drawing.getScreenCTM().inverse());
      zoom(event.deltaY > 0 ? 1.1 : 0.9, x, y);
    },
    { passive: false },
  );
  let held = null;
  let moved = 0;
  drawing.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, target: event.target };
    moved = 0;
    drawing.setPointerCapture(event.pointerId);
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [dx, dy] = [held.x - event.clientX, held.y - event.clientY];
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved < DRAG) return;
    // What is held stays under the pointer, whatever the shape of the drawing.
    const { a: scale } = drawing.getScreenCTM();
    pan(dx / scale / view.width, dy / scale / view.height);
    Object.assign(held, { x: event.clientX, y: event.clientY });
  });
  drawing.addEventListener("pointerup", () => {
    if (held && moved < DRAG) onPress(held.target);
    held = null;
  });
  drawing.addEventListener("pointercancel", () => {
    held = null;
  });
}
