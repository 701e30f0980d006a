// Whether the server is there, and whether another tab has changed what the session is about.

import { get } from "./api.js";
import { el, show } from "./dom.js";
import { button } from "./parts.js";
import { busy, renew, session } from "./session.js";

const EVERY = 3000;

/** Look now and then, while the page is seen; `place` shows what is to be said. */
export function watchServer(place, onChange) {
  let gone = false;
  const look = async () => {
    if (document.hidden) return;
    try {
      const { revision } = await get("/api/revision");
      if (gone) show(place);
      gone = false;
      await renew(revision);
    } catch {
      if (!gone) show(place, absence());
      gone = true;
    }
  };
  setInterval(look, EVERY);
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  window.addEventListener("elsewhere", () => {
    show(place, elsewhere(place));
    // A question of a run that was just sent is answered as things are now; an editor has other text.
    if (session.kind === "program" || !busy()) onChange();
  });
}

function absence() {
  return el(
    "p",
    { class: "note bad", role: "alert" },
    el("strong", {}, "The server does not answer."),
    " What is shown stays; nothing can be asked until `dprl serve` runs again in its terminal. This page goes on by itself then.",
  );
}

function elsewhere(place) {
  const what = session.kind === "program" ? "program was" : "facts were";
  return el(
    "p",
    { class: "note warn", role: "status" },
    `The ${what} changed in another tab: what is asked from now on is about them as they stand now. `,
    button("All right", () => show(place), { class: "quiet" }),
  );
}
