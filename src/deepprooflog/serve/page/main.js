// The page: its header, the query box, and which view is shown.

import { answersView } from "./answers.js";
import { changesBar } from "./changes.js";
import { combobox, suggestGoal } from "./combobox.js";
import { compareView } from "./compare.js";
import { el, show } from "./dom.js";
import { factsView } from "./facts.js";
import { graphView } from "./goal_graph.js";
import { problem } from "./parts.js";
import { programView } from "./program.js";
import { watchServer } from "./presence.js";
import { go, link, route } from "./routes.js";
import { runView } from "./run.js";
import { busy, byWalks, open, session, stop } from "./session.js";
import { stepView } from "./step.js";
import { sumsView } from "./sums.js";
import { supportsView } from "./supports.js";
import { shortened } from "./text.js";
import { whyNotView } from "./why_not.js";

const VIEWS = {
  run: {
    ask: [answersView, "Answers"],
    whynot: [whyNotView, "Why not"],
    compare: [compareView, null],
    step: [stepView, "Step"],
    supports: [supportsView, null],
    facts: [factsView, "Facts"],
    run: [runView, "Run"],
  },
  walks: {
    ask: [answersView, "Answers"],
    compare: [compareView, null],
    step: [stepView, "Step"],
    facts: [factsView, "Facts"],
    run: [runView, "Run"],
  },
  sums: {
    ask: [sumsView, "Answers"],
    run: [runView, "Run"],
  },
  program: {
    ask: [programView, "Program"],
    whynot: [whyNotView, "Why not"],
    step: [stepView, "Step"],
    graph: [graphView, "Goal graph"],
  },
};

// A run of sums has views of its own, one of walks fewer than one with rules.
const views = () => VIEWS[session.sums ? "sums" : byWalks() ? "walks" : session.kind];
const byId = (id) => document.getElementById(id);
const THEMES = ["auto", "light", "dark"];
let sequence = 0;
let shownBefore = false;

// The links stay the same elements, so that the keyboard does not lose its place.
function tabs(view, q) {
  const rows = Object.entries(views()).filter(([, [, name]]) => name);
  if (!byId("tabs").childElementCount) {
    show(
      byId("tabs"),
      rows.map(([name, [, title]]) => el("a", { "data-view": name }, title)),
    );
  }
  for (const tab of byId("tabs").children) {
    tab.href = link(tab.dataset.view, { q: tab.dataset.view === "run" ? null : q || null });
    if (tab.dataset.view === view) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

async function render() {
  const { view, parameters } = route();
  const known = views();
  const name = view in known ? view : "ask";
  const input = byId("query");
  if (parameters.q !== undefined && parameters.q !== input.value) input.value = parameters.q;
  if (name !== "ask") stop();
  tabs(name, parameters.q ?? input.value);
  show(byId("changes"), changesBar());
  document.title = `${parameters.q ? `${shortened(parameters.q, 60)} · ` : ""}DeepProofLog`;
  sequence += 1;
  const mine = sequence;
  // A view that is overtaken by another writes into a root that is no longer shown.
  const root = el("div", { class: `view-${name}` });
  const main = byId("view");
  main.style.minHeight = `${main.offsetHeight}px`; // while it is empty, the page must not scroll up
  main.replaceChildren(root);
  try {
    await known[name][0](root, parameters);
  } catch (error) {
    if (mine === sequence) show(root, problem(error));
    if (!("hint" in error)) throw error;
  }
  if (mine !== sequence) return;
  main.style.minHeight = "";
  if (shownBefore && document.activeElement === document.body) focusHeading(root);
  shownBefore = true;
}

// What had the focus is gone: go on from where the new view begins.
function focusHeading(root) {
  const heading = root.querySelector(".detail h2") ?? root.querySelector("h2");
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function theme() {
  const chosen = localStorage.getItem("dpl-theme") ?? "auto";
  document.documentElement.dataset.theme = chosen;
  const names = { auto: "Auto", light: "Light", dark: "Dark" };
  byId("theme").textContent = `Theme: ${names[chosen].toLowerCase()}`;
  byId("theme").setAttribute("aria-label", `Colours: ${names[chosen]}. Change`);
}

function wire() {
  const input = byId("query");
  combobox(input, { suggest: suggestGoal });
  byId("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (busy() && byId("send").classList.contains("stop")) {
      stop();
      return;
    }
    const q = input.value.trim();
    if (!q) return;
    const { view } = route();
    const asking = new Set(["whynot", "step", "graph"]);
    go(asking.has(view) ? view : "ask", { q });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && busy()) stop();
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      input.focus();
      input.select();
    }
  });
  byId("theme").addEventListener("click", () => {
    const at = THEMES.indexOf(document.documentElement.dataset.theme);
    localStorage.setItem("dpl-theme", THEMES[(at + 1) % THEMES.length]);
    theme();
  });
  window.addEventListener("hashchange", render);
  window.addEventListener("facts", () => show(byId("changes"), changesBar()));
}

async function start() {
  theme();
  try {
    await open();
  } catch (error) {
    show(byId("view"), problem(error));
    return;
  }
  byId("session").textContent =
    `${session.kind === "run" ? "run" : "program"} ${shortened(session.name, 80)}`;
  byId("query").placeholder =
    session.kind === "run" ? "uncle(X, cora_hollis)" : "a goal, such as s(X)";
  if (session.sums) byId("query").placeholder = session.sums.examples[0] ?? "";
  if (session.kind === "run" && session.graph?.relations?.length) {
    byId("query").placeholder = `${session.graph.relations[0]}(X, Y)`;
  }
  wire();
  // Only from here on is there someone to take a query.
  byId("query").disabled = false;
  byId("send").disabled = false;
  await render();
  watchServer(byId("presence"), render);
}

start();
