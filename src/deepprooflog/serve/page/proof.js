// A proof as a tree that folds: rows in preorder, each a step with its clause and probability.

import { el, show } from "./dom.js";
import { atom, bar, button, chip, term } from "./parts.js";
import { substitution, walkedTriple } from "./prolog.js";
import { link } from "./routes.js";
import { byWalks } from "./session.js";
import { oneLine, plural, probability, spaced } from "./text.js";

const UNFOLDED = 200; // a proof of more steps opens with its first levels only
const LEVELS = 3;
const ROWS = 400; // rows shown at once; a button brings more
const INDENTED = 16; // deeper steps carry their depth as a number

const ABSENT = new Set(["missing", "failed"]); // steps of a derivation that are not there

/** The tree of one proof. `linked`: entities lead to their facts; `onPlace` hears of a clause's place. */
export function proofTree(proof, { linked = false, onPlace = null, name = "Proof" } = {}) {
  const steps = proof.nodes.map((node) => ({
    ...node,
    below: [],
    level: 1,
    folded: false,
    row: null,
  }));
  const roots = [];
  for (const step of steps) {
    if (step.parent === null || step.parent < 0) roots.push(step);
    else {
      steps[step.parent].below.push(step);
      step.level = steps[step.parent].level + 1;
    }
  }
  const fold = steps.length > UNFOLDED;
  for (const step of steps) step.folded = fold && step.below.length > 0 && step.level >= LEVELS;

  const list = el("ul", { class: "tree", role: "tree", "aria-label": name });
  const more = el("p", { class: "more" });
  let shown = ROWS;
  let focused = steps[0];
  let opened = null;

  function visible() {
    const rows = [];
    let hiddenBelow = Infinity;
    for (const step of steps) {
      if (step.level > hiddenBelow) continue;
      hiddenBelow = step.folded ? step.level : Infinity;
      rows.push(step);
    }
    return rows;
  }

  function draw() {
    const rows = visible();
    for (const step of rows.slice(0, shown)) step.row ??= treeRow(step);
    show(
      list,
      rows.slice(0, shown).map((step) => step.row),
    );
    for (const step of rows.slice(0, shown)) update(step);
    const rest = rows.length - shown;
    show(
      more,
      rest > 0 &&
        button(`Show ${plural(Math.min(rest, ROWS), "more step")}`, () => {
          shown += ROWS;
          draw();
        }),
    );
  }

  function update(step) {
    if (step.below.length) step.row.setAttribute("aria-expanded", String(!step.folded));
    step.row.setAttribute("aria-selected", String(step === opened));
    step.row.tabIndex = step === focused ? 0 : -1;
    const card = step.row.querySelector(":scope > .card");
    if (step === opened && !card) step.row.append(stepCard(step, steps[0], linked));
    else if (step !== opened) card?.remove();
  }

  function focus(step) {
    if (!step?.row?.isConnected) return;
    focused.row.tabIndex = -1;
    focused = step;
    step.row.tabIndex = 0;
    step.row.focus();
  }

  function setFolded(step, folded) {
    if (!step.below.length) return;
    step.folded = folded;
    draw();
    focus(step);
  }

  function select(step) {
    const before = opened;
    opened = opened === step ? null : step;
    if (before?.row) update(before);
    update(step);
  }

  function treeRow(step) {
    const siblings = step.parent === null || step.parent < 0 ? roots : steps[step.parent].below;
    const row = el(
      "li",
      {
        class: `step ${step.kind}`,
        role: "treeitem",
        "aria-level": step.level,
        "aria-setsize": siblings.length,
        "aria-posinset": siblings.indexOf(step) + 1,
        "--level": Math.min(step.level, INDENTED) - 1,
        onfocus: () => onPlace?.(step.place),
        onmouseenter: () => onPlace?.(step.place),
        onmouseleave: () => onPlace?.(null),
        onblur: () => onPlace?.(null),
      },
      el(
        "div",
        {
          class: "step-line",
          onclick: () => {
            focus(step);
            select(step);
          },
        },
        el("span", {
          class: "caret-mark",
          "aria-hidden": "true",
          onclick: (event) => {
            event.stopPropagation();
            setFolded(step, !step.folded);
          },
        }),
        el(
          "div",
          { class: "step-text" },
          el(
            "span",
            { class: "step-atom" },
            step.level > INDENTED && el("span", { class: "depth" }, `depth ${step.level}`),
            term(step.atom),
            chip(step.kind, step.kind),
          ),
          step.reason &&
            !repeats(step) &&
            el("code", { class: "reason" }, spaced(oneLine(step.reason)).slice(0, 600)),
        ),
        el(
          "span",
          { class: "step-number" },
          ABSENT.has(step.kind)
            ? null
            : [
                bar(step.probability, `step probability ${probability(step.probability)}`),
                el("span", { class: "number" }, probability(step.probability)),
              ],
        ),
        step.place && el("span", { class: "place", role: "tooltip" }, oneLine(step.place)),
      ),
    );
    return row;
  }

  list.addEventListener("keydown", (event) => {
    if (event.target.getAttribute("role") !== "treeitem") {
      if (event.key === "Escape") focus(focused);
      return;
    }
    const rows = visible().slice(0, shown);
    const at = rows.indexOf(focused);
    const moves = {
      ArrowDown: () => focus(rows[at + 1]),
      ArrowUp: () => focus(rows[at - 1]),
      Home: () => focus(rows[0]),
      End: () => focus(rows[rows.length - 1]),
      ArrowRight: () => (focused.folded ? setFolded(focused, false) : focus(focused.below[0])),
      ArrowLeft: () => {
        if (focused.below.length && !focused.folded) setFolded(focused, true);
        else if (focused.parent !== null) focus(steps[focused.parent]);
      },
      Enter: () => select(focused),
      " ": () => select(focused),
      Escape: () => opened && select(opened),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  });

  function foldAll(folded) {
    for (const step of steps) step.folded = folded && step.below.length > 0;
    if (folded) focused = roots[0];
    draw();
  }

  draw();
  const tools =
    steps.some((step) => step.below.length) &&
    el(
      "p",
      { class: "tree-tools" },
      button("Unfold all", () => foldAll(false), { class: "quiet" }),
      button("Fold all", () => foldAll(true), { class: "quiet" }),
    );
  return { element: el("div", { class: "proof-tree" }, list, more), tools };
}

function repeats(step) {
  return step.kind === "fact" && step.reason.replace(/\.$/u, "") === step.atom;
}

// The whole of a step: what its row has no room for.
function stepCard(step, root, linked) {
  const below = step.below.map((one) => one.atom);
  const clause = ["rule", "fact", "belief"].includes(step.kind) && step.reason ? step.reason : null;
  const bindings = clause ? [...substitution(clause, step.atom, below)] : [];
  // A walk goes along facts about names; what else its program says is about states and hops.
  const walks = linked && byWalks();
  const fact = walks ? walkedTriple(step.atom) : step.kind === "fact" ? step.atom : null;
  const rows = [
    ["Atom", walks ? (fact ? atom(fact, true) : term(step.atom)) : atom(step.atom, linked)],
    step.reason && [clause ? "Clause" : "By", term(step.reason)],
    bindings.length > 0 && [
      "Substitution",
      el(
        "ul",
        { class: "bindings" },
        bindings.map(([name, value]) =>
          el(
            "li",
            {},
            el("code", { class: "term" }, `${name} = `),
            linked ? atom(value) : term(value),
          ),
        ),
      ),
    ],
    !ABSENT.has(step.kind) && [
      "Probability",
      el("span", { class: "number" }, probability(step.probability)),
    ],
    step.place && ["Source", el("code", { class: "term" }, oneLine(step.place))],
    linked &&
      fact &&
      !walks && [
        "It supports",
        el(
          "a",
          { href: link("supports", { fact, of: root.atom }) },
          "other answers too: see which",
        ),
      ],
    linked &&
      fact && [
        "If it were not known",
        el(
          "a",
          { href: link("facts", { retract: fact }) },
          "retract it and see the probabilities change",
        ),
      ],
  ].filter(Boolean);
  return el(
    "dl",
    { class: "card" },
    rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );
}
