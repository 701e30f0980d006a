// Where the goals of a graph stand: in layers by distance from the query, few crossings.

const CHAR = 7.3;
const HEIGHT = 30;
const GAP = 18;
const LAYER = 78;
const MOST = 34; // characters of a goal that are drawn

/** Boxes and edge paths for nodes {id, goal, kind} and edges {from, to}. */
export function layered(graph, text) {
  const { nodes, edges, below, above, depth } = placed(graph);
  const layers = [];
  for (const node of nodes) (layers[depth.get(node.id)] ??= []).push(node);
  order(layers, below, above);
  const boxes = new Map();
  const rows = layers.map((layer) =>
    layer.map((node) => {
      const whole = text(node.goal);
      const label = whole.length > MOST ? `${whole.slice(0, MOST - 1)}…` : whole;
      return { node, label, width: label.length * CHAR + 24, height: HEIGHT };
    }),
  );
  const widths = rows.map((row) => row.reduce((sum, box) => sum + box.width + GAP, GAP));
  const width = Math.max(...widths, 320) + 120; // steps back go around at the right
  rows.forEach((row, at) => {
    let x = GAP + (width - widths[at]) / 2;
    for (const box of row) {
      Object.assign(box, { x, y: GAP + at * LAYER });
      boxes.set(box.node.id, box);
      x += box.width + GAP;
    }
  });
  const height = GAP * 2 + (rows.length - 1) * LAYER + HEIGHT;
  return { boxes: [...boxes.values()], paths: paths(edges, boxes), width, height };
}

// All proofs end in true. It stands below everything else; a goal far above gets a copy of its own,
// so that no step has to run through the whole drawing.
function placed({ nodes: given, edges: steps }) {
  const depth = distances(given, neighbours(given, steps, "from", "to"));
  const nodes = [...given];
  const truth = given.find((node) => node.kind === "true");
  let edges = steps;
  if (truth && given.length > 1) {
    const last =
      Math.max(...given.filter((node) => node !== truth).map((node) => depth.get(node.id))) + 1;
    depth.set(truth.id, last);
    edges = steps.map((edge) => {
      if (edge.to !== truth.id || depth.get(edge.from) + 1 === last) return edge;
      const copy = `true of ${edge.from}`;
      if (!depth.has(copy)) nodes.push({ ...truth, id: copy });
      depth.set(copy, depth.get(edge.from) + 1);
      return { ...edge, to: copy };
    });
    if (!edges.some((edge) => edge.to === truth.id)) nodes.splice(nodes.indexOf(truth), 1);
  }
  return {
    nodes,
    edges,
    depth,
    below: neighbours(nodes, edges, "from", "to"),
    above: neighbours(nodes, edges, "to", "from"),
  };
}

function neighbours(nodes, edges, here, there) {
  const found = new Map(nodes.map((node) => [node.id, []]));
  for (const edge of edges) found.get(edge[here])?.push(edge[there]);
  return found;
}

function distances(nodes, below) {
  const depth = new Map();
  let front = nodes.length ? [nodes[0].id] : [];
  for (let at = 0; front.length; at += 1) {
    const next = [];
    for (const id of front) {
      if (depth.has(id)) continue;
      depth.set(id, at);
      next.push(...below.get(id));
    }
    front = next;
  }
  for (const node of nodes) if (!depth.has(node.id)) depth.set(node.id, 0);
  return depth;
}

// A few sweeps down and up: each goal to the mean place of its neighbours in the layer before.
function order(layers, below, above) {
  for (let sweep = 0; sweep < 6; sweep += 1) {
    const downwards = sweep % 2 === 0;
    const near = downwards ? above : below;
    const rows = downwards ? layers : [...layers].reverse();
    const place = new Map();
    rows.forEach((layer, at) => {
      if (at) {
        const mean = (node, now) => {
          const places = near
            .get(node.id)
            .map((id) => place.get(id))
            .filter((x) => x !== undefined);
          return places.length
            ? places.reduce((a, b) => a + b, 0) / places.length
            : now / layer.length;
        };
        const keys = new Map(layer.map((node, now) => [node, mean(node, now)]));
        layer.sort((a, b) => keys.get(a) - keys.get(b));
      }
      layer.forEach((node, now) => place.set(node.id, (now + 0.5) / layer.length));
    });
  }
}

// Steps between the same two goals stand beside each other.
function paths(edges, boxes) {
  const beside = new Map();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.to}`;
    beside.set(key, [...(beside.get(key) ?? []), edge]);
  }
  return [...beside.values()]
    .flatMap((row) => row.map((edge, at) => path(edge, boxes, (at - (row.length - 1) / 2) * 44)))
    .filter(Boolean);
}

function path(edge, boxes, aside) {
  const a = boxes.get(edge.from);
  const b = boxes.get(edge.to);
  if (!a || !b) return null;
  if (b.y > a.y) {
    const [x1, y1, x2, y2] = [a.x + a.width / 2, a.y + a.height, b.x + b.width / 2, b.y];
    const bend = Math.min((y2 - y1) / 2, LAYER);
    // Past the middle: there the numbers of crossing edges would meet, and siblings begin together.
    const t = 0.62;
    const [a3, ab, b3] = [(1 - t) ** 3, 3 * t * (1 - t), t ** 3];
    const x = (a3 + ab * (1 - t)) * x1 + (b3 + ab * t) * x2 + ab * aside;
    const y = a3 * y1 + ab * (1 - t) * (y1 + bend) + ab * t * (y2 - bend) + b3 * y2;
    return {
      edge,
      back: false,
      d: `M${x1} ${y1}C${x1 + aside} ${y1 + bend} ${x2 + aside} ${y2 - bend} ${x2} ${y2}`,
      x,
      y: y + 4,
    };
  }
  // A step back up, or to the goal itself: around the right side.
  const [x1, y1, x2, y2] = [
    a.x + a.width,
    a.y + a.height / 2,
    b.x + b.width,
    b.y + b.height / 2 + (a === b ? 8 : 0),
  ];
  const out = Math.max(x1, x2) + 36 + Math.abs(aside);
  return {
    edge,
    back: true,
    d: `M${x1} ${y1}C${out} ${y1 - (a === b ? 24 : 0)} ${out} ${y2 + (a === b ? 12 : 0)} ${x2} ${y2}`,
    x: out - 8,
    y: (y1 + y2) / 2 + 4,
  };
}
