// The server's API: JSON over HTTP on this machine, long work as jobs.

/** What the server says was wrong: a message, where, and what to try. */
export class Refusal extends Error {
  constructor(error, status) {
    super(error?.message ?? `the server answered ${status}`);
    this.line = error?.line ?? null;
    this.column = error?.column ?? null;
    this.hint = error?.hint ?? null;
    this.status = status;
  }
}

/** A job that was stopped, by this page or by its budget. */
export class Stopped extends Error {}

async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new Refusal({
      message: "the server does not answer",
      hint: "is `dprl serve` still running in its terminal?",
    });
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(answer.error ?? answer.detail?.error, response.status);
  return answer;
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body);
export const remove = (path) => request("DELETE", path);

/** Start a job and wait for its result; `onQueued` hears that it was taken, `onProgress` how far it
 *  is, `signal` stops it. */
export async function job(path, body, { signal, onQueued, onProgress } = {}) {
  const reply = await post(path, body);
  const { job: id } = reply;
  await onQueued?.(reply);
  const url = `/api/jobs/${encodeURIComponent(id)}`;
  const stop = () => remove(url).catch(() => {});
  if (signal?.aborted) {
    await stop();
    throw new Stopped("stopped");
  }
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return outcome(await ended(url, onProgress));
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

function outcome(state) {
  if (state.state === "done") return state.result;
  if (state.state === "cancelled") throw new Stopped(state.error?.message ?? "stopped");
  throw new Refusal(state.error, 400);
}

const ENDS = new Set(["done", "failed", "cancelled"]);

// Events tell of progress at once; where a stream breaks off, asking every so often goes on.
function ended(url, onProgress) {
  return new Promise((resolve, reject) => {
    const events = new EventSource(`${url}/events`);
    const take = (event) => {
      const state = JSON.parse(event.data);
      if (ENDS.has(state.state)) {
        events.close();
        resolve(state);
      } else onProgress?.(state);
    };
    for (const name of ["message", "progress", "done", "failed", "cancelled"]) {
      events.addEventListener(name, take);
    }
    events.onerror = () => {
      events.close();
      polled(url, onProgress).then(resolve, reject);
    };
  });
}

async function polled(url, onProgress) {
  for (;;) {
    const state = await get(url);
    if (ENDS.has(state.state)) return state;
    onProgress?.(state);
    await new Promise((wake) => setTimeout(wake, 200));
  }
}
