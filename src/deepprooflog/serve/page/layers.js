// Where the goals of a graph stand: in layers by distance from the query, few crossings.

import { blocked, grid } from "./blocks.js";

const CHAR = 7.3;
const HEIGHT = 30;
const GAP = 18;
const UNDER = 48; // between two layers where they are rows
const BETWEEN = 96; // and where they are columns
const BEND = 78;
const MOST = 34; // characters of a goal that are drawn
const SWEEPS = 8;
const AROUND = 60; // room for steps back, which go around the outside

/** Boxes, frames and edge paths for nodes {id, goal, kind} and edges {from, to}.
 *
 * Where true is drawn several times, a copy says whose (`of`), and a step what it leads to (`goal`).
 * Layers are rows, the query on top; where goals fan out they are columns, the query at the left:
 * a hundred goals below each other are read more easily than beside each other. What needs less
 * room on a screen of `fit` {width, height} is taken.
 */
export function layered(graph, text, fit) {
  const { nodes, edges, below, above, depth } = placed(blocked(graph));
  const layers = [];
  for (const node of nodes) (layers[depth.get(node.id)] ??= []).push(node);
  order(layers, below, above);
  const boxOf = (node) => {
    if (node.members) return { node, ...grid(node.members.map(boxOf)) };
    const whole = text(node.goal);
    const label = whole.length > MOST ? `${whole.slice(0, MOST - 1)}…` : whole;
    return { node, label, width: label.length * CHAR + 24, height: HEIGHT };
  };
  const rows = layers.map((layer) => layer.map(boxOf));
  const drawn = [ROWS, COLUMNS].map((way) => arranged(rows, edges, below, above, way));
  const room = ({ width, height }) => Math.max(width / fit.width, height / fit.height);
  return room(drawn[1]) < room(drawn[0]) && room(drawn[0]) > 1.3 ? drawn[1] : drawn[0];
}

// What differs between rows and columns: which side of a box lies along its layer, where a layer
// begins, where a box stands, and how a step leaves, arrives and goes back.
const ROWS = {
  breadth: (box) => box.width,
  starts: (rows) => starts(rows, (box) => box.height, UNDER),
  put: (box, start, centre) => ({ x: centre - box.width / 2, y: start }),
  ends: (a, b) => [a.x + a.width / 2, a.y + a.height, b.x + b.width / 2, b.y],
  onward: (a, b) => b.y > a.y,
  name: "rows",
};
const COLUMNS = {
  breadth: (box) => box.height,
  starts: (rows) => starts(rows, (box) => box.width, BETWEEN),
  put: (box, start, centre) => ({ x: start, y: centre - box.height / 2 }),
  ends: (a, b) => [a.x + a.width, a.y + a.height / 2, b.x, b.y + b.height / 2],
  onward: (a, b) => b.x > a.x,
  name: "columns",
};

function starts(rows, size, between) {
  const found = [GAP];
  for (const row of rows) found.push(found.at(-1) + between + Math.max(...row.map(size)));
  return found;
}

function arranged(rows, edges, below, above, way) {
  const centres = pulled(rows, below, above, way.breadth);
  const starts = way.starts(rows);
  const boxes = new Map();
  rows.forEach((row, at) => {
    for (const one of row) {
      const box = { ...one, ...way.put(one, starts[at], centres.get(one.node.id)) };
      boxes.set(box.node.id, box);
    }
  });
  const all = [...boxes.values()];
  const frames = all.filter((box) => box.places);
  const drawn = paths(edges, boxes, way);
  const around = drawn.some((one) => one.back) ? AROUND : 0;
  const [right, bottom] = way === ROWS ? [around, 0] : [0, around];
  return {
    boxes: all.flatMap((box) => box.places?.map((one) => standing(one, box)) ?? [box]),
    frames,
    paths: drawn,
    way: way.name,
    width: Math.max(...all.map((box) => box.x + box.width)) + GAP + right,
    height: Math.max(...all.map((box) => box.y + box.height)) + GAP + bottom,
  };
}

const standing = ({ dx, dy, ...box }, block) => ({ ...box, x: block.x + dx, y: block.y + dy });

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
      if (!depth.has(copy)) nodes.push({ ...truth, id: copy, of: truth.id });
      depth.set(copy, depth.get(edge.from) + 1);
      return { ...edge, to: copy, goal: truth.id };
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

function mean(values, otherwise) {
  return values.length ? values.reduce((a, b) => a + b, 0) / values.length : otherwise;
}

// A few sweeps down and up: each goal to the mean place of its neighbours in the layer before.
function order(layers, below, above) {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const near = sweep % 2 === 0 ? above : below;
    const rows = sweep % 2 === 0 ? layers : [...layers].reverse();
    const place = new Map();
    rows.forEach((layer, at) => {
      if (at) {
        const wish = (node, now) =>
          mean(
            near
              .get(node.id)
              .map((id) => place.get(id))
              .filter((x) => x !== undefined),
            now / layer.length,
          );
        const keys = new Map(layer.map((node, now) => [node, wish(node, now)]));
        layer.sort((a, b) => keys.get(a) - keys.get(b));
      }
      layer.forEach((node, now) => place.set(node.id, (now + 0.5) / layer.length));
    });
  }
}

// The centre of each box within its layer: near its neighbours, and apart from those beside it.
function pulled(rows, below, above, breadth) {
  const centre = new Map();
  const level = new Map();
  rows.forEach((row, at) => {
    let edge = 0;
    for (const box of row) {
      centre.set(box.node.id, edge + breadth(box) / 2);
      level.set(box.node.id, at);
      edge += breadth(box) + GAP;
    }
  });
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const near = sweep % 2 === 0 ? above : below;
    const from = sweep % 2 === 0 ? -1 : 1;
    const levels = sweep % 2 === 0 ? rows : [...rows].reverse();
    for (const row of levels) {
      const wishes = row.map(({ node }) =>
        mean(
          near
            .get(node.id)
            .filter((id) => level.get(id) === level.get(node.id) + from)
            .map((id) => centre.get(id)),
          centre.get(node.id),
        ),
      );
      // Pushed on, then back: half of each keeps a row in the middle of its wishes.
      const on = apart(row, wishes, breadth);
      const back = apart(
        [...row].reverse(),
        wishes.map((x) => -x).reverse(),
        breadth,
      ).reverse();
      row.forEach(({ node }, at) => centre.set(node.id, (on[at] - back[at]) / 2));
    }
  }
  const least = Math.min(
    ...rows.flat().map((box) => centre.get(box.node.id) - breadth(box) / 2),
  );
  for (const [id, at] of centre) centre.set(id, at - least + GAP);
  return centre;
}

function apart(row, wishes, breadth) {
  const found = [];
  row.forEach((box, at) => {
    const room = at ? (breadth(row[at - 1]) + breadth(box)) / 2 + GAP : 0;
    found.push(at ? Math.max(wishes[at], found[at - 1] + room) : wishes[at]);
  });
  return found;
}

// Steps between the same two goals stand beside each other.
function paths(edges, boxes, way) {
  const beside = new Map();
  for (const edge of edges) {
    const key = `${edge.from} ${edge.to}`;
    beside.set(key, [...(beside.get(key) ?? []), edge]);
  }
  return [...beside.values()]
    .flatMap((row) =>
      row.map((edge, at) => path(edge, boxes, (at - (row.length - 1) / 2) * 44, way)),
    )
    .filter(Boolean);
}

function path(edge, boxes, aside, way) {
  const a = boxes.get(edge.from);
  const b = boxes.get(edge.to);
  if (!a || !b) return null;
  if (!way.onward(a, b)) return around(edge, a, b, aside, way);
  const [x1, y1, x2, y2] = way.ends(a, b);
  const rows = way === ROWS;
  const bend = Math.min((rows ? y2 - y1 : x2 - x1) / 2, BEND);
  const [c1, c2] = rows
    ? [[x1 + aside, y1 + bend], [x2 + aside, y2 - bend]]
    : [[x1 + bend, y1 + aside], [x2 - bend, y2 + aside]]; // prettier-ignore
  // Past the middle: there the numbers of crossing edges would meet, and siblings begin together.
  const t = rows ? 0.62 : 0.74;
  const along = (p, q, r, s) =>
    (1 - t) ** 3 * p + 3 * t * (1 - t) ** 2 * q + 3 * t * t * (1 - t) * r + t ** 3 * s;
  return {
    edge,
    back: false,
    d: `M${x1} ${y1}C${c1[0]} ${c1[1]} ${c2[0]} ${c2[1]} ${x2} ${y2}`,
    x: along(x1, c1[0], c2[0], x2),
    y: along(y1, c1[1], c2[1], y2) + 4,
  };
}

// A step back, to a goal of the same layer or to the goal itself: around the right side, or below.
function around(edge, a, b, aside, way) {
  const rows = way === ROWS;
  const shift = a === b ? 8 : 0;
  const [x1, y1, x2, y2] = rows
    ? [a.x + a.width, a.y + a.height / 2, b.x + b.width, b.y + b.height / 2 + shift]
    : [a.x + a.width / 2, a.y + a.height, b.x + b.width / 2 + shift, b.y + b.height];
  const loop = a === b ? [-24, 12] : [0, 0];
  const out = (rows ? Math.max(x1, x2) : Math.max(y1, y2)) + 36 + Math.abs(aside);
  const d = rows
    ? `M${x1} ${y1}C${out} ${y1 + loop[0]} ${out} ${y2 + loop[1]} ${x2} ${y2}`
    : `M${x1} ${y1}C${x1 + loop[0]} ${out} ${x2 + loop[1]} ${out} ${x2} ${y2}`;
  return {
    edge,
    back: true,
    d,
    x: rows ? (x1 + x2) / 8 + 0.75 * out : (x1 + x2) / 2,
    y: rows ? (y1 + y2) / 2 + 4 : (y1 + y2) / 8 + 0.75 * out + 4,
  };
}
