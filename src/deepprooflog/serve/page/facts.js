// Facts: what is known about an entity, adding and retracting, and what that does to answers.

import { get } from "./api.js";
import { ASKED } from "./answers.js";
import { change } from "./detail.js";
import { el, show } from "./dom.js";
import { combobox, suggestEntity, suggestGoal } from "./combobox.js";
import { atom, button, empty, problem, term, waiting } from "./parts.js";
import { readTerm, splitTop } from "./prolog.js";
import { go, link } from "./routes.js";
import { ask, before, byWalks, changed, changeFacts, session } from "./session.js";
import { oneLine, plural, probability, shortened } from "./text.js";

/** The view of facts: `about` an entity, `retract` or `add` a fact at once, effects on query `q`. */
export async function factsView(root, { about, retract, add, q }) {
  const note = el("div", {});
  const effects = el("section", { class: "effects" });
  const known = el("section", { class: "known-facts" });
  show(
    root,
    el(
      "div",
      { class: "two even" },
      el(
        "div",
        {},
        el("h2", {}, "Change facts"),
        el(
          "p",
          { class: "soft" },
          "Proofs use the facts as changed and belief weighs them; nothing is learned anew, and no file is written.",
        ),
        addForm(note),
        note,
        effects,
      ),
      el("div", {}, el("h2", {}, "What is known"), aboutForm(about), known),
    ),
  );
  const asked = q ?? lastQuery();
  try {
    if (retract) await toggle([retract], false);
    if (add) await toggle(splitTop(add, ";"), true);
  } catch (error) {
    show(note, problem(error));
  }
  if (retract || add)
    history.replaceState(null, "", link("facts", { q: asked || null, about: about ?? null }));
  await Promise.all([showKnown(known, about, note), showEffects(effects, asked)]);
}

const lastQuery = () => document.getElementById("query").value.trim();

const bare = (fact) => fact.trim().replace(/\.$/u, "").replace(/,\s+/gu, ",");

/** Add facts, or retract them; a change that was the other way round is only taken back. */
async function toggle(facts, adding) {
  const lists = { added: session.added.map(bare), removed: session.removed.map(bare) };
  const [own, other] = adding ? ["added", "removed"] : ["removed", "added"];
  for (const fact of facts.map(bare)) {
    if (lists[other].includes(fact)) lists[other] = lists[other].filter((one) => one !== fact);
    else if (!lists[own].includes(fact)) lists[own].push(fact);
  }
  await changeFacts(lists.added, lists.removed);
}

function addForm(note) {
  const input = el("input", {
    id: "fact",
    type: "text",
    "aria-label": "Fact",
    placeholder: "relation(head, tail)",
  });
  const field = el("div", { class: "field" }, input);
  combobox(input, { suggest: suggestGoal });
  const act = async (adding) => {
    if (!input.value.trim()) return;
    try {
      await toggle([input.value], adding);
      go("facts", { q: lastQuery() || null });
    } catch (error) {
      show(note, problem(error, input.value));
    }
  };
  return el(
    "form",
    {
      class: "line-form",
      onsubmit: (event) => {
        event.preventDefault();
        act(true);
      },
    },
    field,
    el("button", { type: "submit" }, "Add"),
    button("Retract", () => act(false)),
  );
}

function aboutForm(about) {
  const input = el("input", {
    type: "text",
    "aria-label": "Entity",
    placeholder: "an entity",
    value: about ?? null,
  });
  const field = el("div", { class: "field" }, input);
  combobox(input, { suggest: suggestEntity });
  return el(
    "form",
    {
      class: "line-form",
      onsubmit: (event) => {
        event.preventDefault();
        go("facts", { about: input.value.trim() });
      },
    },
    field,
    el("button", { type: "submit" }, "Show"),
  );
}

async function showKnown(root, about, note) {
  if (!about) {
    show(
      root,
      empty(
        "No entity chosen",
        el("p", {}, "Type its name above, or follow it from a step of a proof."),
      ),
    );
    return;
  }
  show(root, waiting("Reading facts"));
  let facts;
  let more;
  try {
    ({ facts, more } = await get(`/api/facts/about?${new URLSearchParams({ entity: about })}`));
  } catch (error) {
    show(root, problem(error));
    return;
  }
  const gone = session.removed.filter((fact) => readTerm(fact).args?.includes(about));
  const act = (text, adding) => async () => {
    try {
      await toggle([text], adding);
      go("facts", { about, q: lastQuery() || null });
    } catch (error) {
      show(note, problem(error));
    }
  };
  show(
    root,
    el(
      "p",
      { class: "meta" },
      plural(facts.length, "fact"),
      " about ",
      term(about),
      more > 0 && `, and ${more.toLocaleString("en")} more that are not listed`,
    ),
    el(
      "ul",
      { class: "fact-list" },
      gone.map((text) =>
        factRow(text, "retracted", button("Put back", act(text, true), { class: "quiet" }), "gone"),
      ),
      facts.map(({ triple, place }) =>
        factRow(
          triple,
          place ?? "added",
          button("Retract", act(triple, false), {
            class: "quiet",
            "aria-label": `Retract ${shortened(triple, 120)}`,
          }),
        ),
      ),
    ),
  );
}

function factRow(text, place, action, kind = null) {
  return el(
    "li",
    { class: kind },
    el("span", { class: "fact-atom" }, atom(text, true)),
    el("span", { class: "place-plain" }, oneLine(place)),
    el(
      "span",
      { class: "fact-actions" },
      el(
        "a",
        { href: link("ask", { q: text }), title: "How probable it is, and its proofs" },
        "Ask",
      ),
      !byWalks() &&
        el(
          "a",
          { href: link("supports", { fact: text }), title: "Which triples rules conclude from it" },
          "Supports",
        ),
      action,
    ),
  );
}

// How the answers of the query in the box differ from those without the changes.
async function showEffects(root, q) {
  if (!q) {
    show(
      root,
      empty(
        "No query yet",
        el("p", {}, "Ask something first: its probabilities are shown here before and after."),
      ),
    );
    return;
  }
  show(root, waiting("Looking for answers"));
  const body = { query: q, ...ASKED };
  let then;
  let now;
  try {
    now = await ask("/api/query", body);
    if (!root.isConnected) return; // another view has taken over: it is the one that asks
    then = before(q);
    if (changed() && !then) then = await ask("/api/query", { ...body, as_trained: true });
  } catch (error) {
    show(root, problem(error, q));
    return;
  }
  show(
    root,
    el("h3", {}, "Answers of ", term(q)),
    changed() ? beforeAfter(q, then, now) : unchanged(q, now),
  );
}

function beforeAfter(q, then, now) {
  const olds = new Map(then.answers.map((one) => [one.triple, one.probability]));
  const news = new Map(now.answers.map((one) => [one.triple, one.probability]));
  const shown = (value) => (value === undefined ? "not listed" : probability(value));
  const rows = [...new Set([...news.keys(), ...olds.keys()])].map((triple) => {
    const [was, is] = [olds.get(triple), news.get(triple)];
    const moved = was === undefined || is === undefined ? "–" : change(is - was);
    const still = Math.abs((is ?? 0) - (was ?? 0)) < 5e-5;
    return { triple, cells: [shown(was), shown(is), moved], kind: still ? "unmoved" : null };
  });
  return answerTable(q, ["before", "after", "change"], rows);
}

function unchanged(q, now) {
  if (!now.answers.length) return el("p", { class: "soft" }, "No answer.");
  const rows = now.answers.map((one) => ({
    triple: one.triple,
    cells: [probability(one.probability)],
    kind: null,
  }));
  return answerTable(q, ["probability"], rows);
}

/** A table of answers, each a link to its proofs, with numbers under named columns. */
function answerTable(q, columns, rows) {
  const heads = columns.map((name) => el("th", { scope: "col", class: "right" }, name));
  return el(
    "table",
    { class: "before-after" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "answer"), heads)),
    el(
      "tbody",
      {},
      rows.map(({ triple, cells, kind }) =>
        el(
          "tr",
          { class: kind },
          el("td", {}, el("a", { href: link("ask", { q, open: triple }) }, term(triple))),
          cells.map((text) => el("td", { class: "number" }, text)),
        ),
      ),
    ),
  );
}
