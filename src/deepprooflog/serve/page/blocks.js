// Goals that end a graph side by side: many after the same goals are drawn as one block.

const FEWEST = 10; // so many goals are a block
const WIDEST = 1180;
const PAD = 8;

/** The graph with such goals as one node each: {id, members} and edges {from, to, members}. */
export function blocked({ nodes, edges }) {
  const from = new Set(edges.map((edge) => edge.from));
  const above = new Map(nodes.map((node) => [node.id, new Set()]));
  for (const edge of edges) above.get(edge.to)?.add(edge.from);
  const alike = new Map();
  for (const node of nodes) {
    if (from.has(node.id) || node.kind === "true" || !above.get(node.id).size) continue;
    const key = [...above.get(node.id)].join(" ");
    alike.set(key, [...(alike.get(key) ?? []), node]);
  }
  const blockOf = new Map();
  const kept = new Set(nodes);
  for (const members of alike.values()) {
    if (members.length < FEWEST) continue;
    const block = { id: `block of ${members[0].id}`, goal: "", kind: "block", members };
    for (const member of members) {
      blockOf.set(member.id, block);
      kept.delete(member);
    }
    kept.add(block);
  }
  const bundles = new Map();
  const single = edges.filter((edge) => {
    const block = blockOf.get(edge.to);
    if (!block) return true;
    const key = `${edge.from} ${block.id}`;
    if (!bundles.has(key)) bundles.set(key, { from: edge.from, to: block.id, members: [] });
    bundles.get(key).members.push(edge);
    return false;
  });
  return { nodes: [...kept], edges: [...single, ...bundles.values()] };
}

/** The size of a block whose goals have such boxes, and where each stands in it. */
export function grid(boxes) {
  const wide = Math.max(...boxes.map((box) => box.width));
  const high = boxes[0].height;
  const fitting = Math.max(1, Math.floor((WIDEST - PAD) / (wide + PAD)));
  const square = Math.round(Math.sqrt((2 * boxes.length * (high + PAD)) / (wide + PAD)));
  const columns = Math.min(fitting, Math.max(1, square));
  const rows = Math.ceil(boxes.length / columns);
  return {
    width: columns * (wide + PAD) + PAD,
    height: rows * (high + PAD) + PAD,
    places: boxes.map((box, at) => ({
      ...box,
      width: wide,
      dx: PAD + (at % columns) * (wide + PAD),
      dy: PAD + Math.floor(at / columns) * (high + PAD),
    })),
  };
}
