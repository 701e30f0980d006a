// What the page knows of its session: the run or program, changed facts, answers already given.

import { get, job, post, Stopped } from "./api.js";
import { plural } from "./text.js";

export const session = {
  kind: "run",
  name: "",
  added: [],
  removed: [],
  program: "",
  revision: "",
};

const kept = new Map(); // results by what was asked, while facts and program stay as they are
const asTrained = new Map(); // query → answers without changed facts
let version = 0; // of facts and program: what was asked of an earlier one is not kept

export async function open() {
  Object.assign(session, await get("/api/session"));
  if (session.kind === "run") Object.assign(session, pick(await get("/api/facts")));
}

function pick({ added = [], removed = [] }) {
  return { added, removed };
}

/** Look at the session again where its `revision` is another than is known here: another tab changed
 *  it, or another server has begun. True where it was. */
export async function renew(revision) {
  if (revision === session.revision) return false;
  const known = session.revision.split(".")[0];
  if (known && known !== revision.split(".")[0]) {
    location.reload();
    return true;
  }
  await open();
  forget();
  window.dispatchEvent(new Event("facts"));
  window.dispatchEvent(new Event("elsewhere"));
  return true;
}

export const changed = () => session.added.length + session.removed.length > 0;

/** Whether the session's run answers by walks along facts, not by rules. */
export const byWalks = () => session.graph?.learner === "walks";

/** Replace the session's changes of facts. */
export async function changeFacts(added, removed) {
  const answer = await post("/api/facts", { added, removed });
  Object.assign(session, pick({ added, removed, ...answer }), { revision: answer.revision });
  forget();
  window.dispatchEvent(new Event("facts"));
}

/** Check a program's text and use it from now on; the errors are the server's. */
export async function changeProgram(text) {
  const answer = await post("/api/program", { text });
  if (answer.ok) {
    session.program = text;
    session.revision = answer.revision;
    forget();
  }
  return answer;
}

function forget() {
  kept.clear();
  version += 1;
}

const STAGES = { queued: "Waiting for other queries", starting: "Starting", loading: "Loading" };
let running = null; // the job whose progress the bar shows

export function stop() {
  running?.abort();
}

/** Ask the server for something that may take long: once, with progress and a way to stop it. */
export async function ask(path, body) {
  const key = JSON.stringify([path, body]);
  if (kept.has(key)) return kept.get(key);
  running?.abort();
  const controller = new AbortController();
  running = controller;
  const began = performance.now();
  let asked = { version, changed: changed() };
  let stage = "";
  let counts = {};
  const tell = () =>
    report({ busy: true, stage, counts, seconds: (performance.now() - began) / 1000 });
  tell();
  const clock = setInterval(tell, 100);
  try {
    const onProgress = (state) => {
      ({ stage = "", counts = {} } = state.progress ?? state);
    };
    // What is asked is of the session as it stands there.
    const onQueued = async ({ revision }) => {
      if (await renew(revision)) asked = { version, changed: changed() };
    };
    const result = await job(path, body, { signal: controller.signal, onQueued, onProgress });
    if (asked.version === version) kept.set(key, result);
    const trained = body.as_trained || (!asked.changed && asked.version === version);
    if (path === "/api/query" && trained) asTrained.set(body.query, result);
    return result;
  } finally {
    clearInterval(clock);
    if (running === controller) {
      running = null;
      report({ busy: false });
    }
  }
}

/** The answers of a query before facts were changed, if it was asked then. */
export const before = (query) => (changed() ? asTrained.get(query) : undefined);

const COUNTED = {
  candidates: ["candidate", "candidates"],
  answers: ["answer", "answers"],
  derivations: ["derivation", "derivations"],
  triples: ["triple", "triples"],
  joins: ["join", "joins"],
  goals: ["goal", "goals"],
  calls: ["call", "calls"],
  items: ["item", "items"],
};

/** How far the search has come, such as "512 of 4,000 candidates, 18,200 goals, depth 3". */
export function counted(counts) {
  const said = Object.entries(COUNTED)
    .filter(([name]) => counts[name] !== undefined)
    .map(([name, [one, many]]) => {
      const whole = counts[`${name}_of`];
      if (whole === undefined) return plural(counts[name], one, many);
      return `${counts[name].toLocaleString("en")} of ${plural(whole, one, many)}`;
    });
  if (counts.depth !== undefined) said.push(`depth ${counts.depth}`);
  if (counts.missing) said.push(plural(counts.missing, "fact missing", "facts missing"));
  return said.join(", ");
}

let said = { second: -1 };

function report({ busy, stage, counts, seconds: since = 0 }) {
  const line = document.getElementById("progress");
  const send = document.getElementById("send");
  send.textContent = busy && since > 0.15 ? "Stop" : "Ask";
  send.classList.toggle("stop", busy && since > 0.15);
  document.body.classList.toggle("busy", busy && since > 0.15);
  if (!busy) {
    line.textContent = "";
    said = { second: -1 };
    return;
  }
  // Said once a second and at each stage, so that it is not read out ten times.
  const second = Math.floor(since);
  if (since <= 0.3 || (said.second === second && said.stage === stage)) return;
  said = { second, stage };
  const what = STAGES[stage] ?? `Looking for ${stage || "answers"}`;
  line.textContent = [what, counted(counts ?? {}), `${second} s`, "Escape stops it"]
    .filter(Boolean)
    .join(" · ");
}

export const busy = () => running !== null;
export { Stopped };
