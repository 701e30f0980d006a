// An addition run: sums of named pictures, the most probable first, each with its proof.

import { failure } from "./answers.js";
import { proofCard } from "./detail.js";
import { el, show } from "./dom.js";
import { bar, chip, empty, remarks, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { ask, session } from "./session.js";
import { plural, probability, seconds } from "./text.js";

const TOP = 5;
const SCALE = 4; // pixels of the screen for one of a picture

/** The view of the answers of `q`; `open` is the number of the one whose proof is shown. */
export async function sumsView(root, { q, open = "0" }) {
  if (!q) {
    show(root, invitation());
    return;
  }
  show(root, waiting("Looking for sums"));
  let result;
  try {
    result = await ask("/api/query", { query: q, top: TOP });
  } catch (error) {
    show(root, failure(error, q));
    return;
  }
  if (!result.answers.length) {
    show(root, empty("No answer", el("p", {}, "No sum of these pictures fits the query.")));
    return;
  }
  const picked = Math.min(Number(open) || 0, result.answers.length - 1);
  show(
    root,
    el(
      "div",
      { class: "two" },
      el(
        "section",
        { "aria-label": "Answers" },
        el(
          "div",
          { class: "list-head" },
          el("h2", { tabindex: "-1" }, plural(result.answers.length, "answer")),
          el("p", { class: "meta" }, seconds(result.seconds)),
        ),
        pictures(result),
        remarks(result),
        list(result, q, picked),
      ),
      el("section", { class: "detail", "aria-label": "The proof" }, proof(result, picked)),
    ),
  );
}

function invitation() {
  const { digits, data, pictures: count, examples } = session.sums;
  return el(
    "div",
    { class: "invitation" },
    el("h2", {}, "Ask for a sum"),
    el(
      "p",
      { class: "soft" },
      `Pictures are test(0) to test(${count.test - 1}) and train(0) to train(${count.train - 1}) of ${data}; ` +
        "test(3..0) is a list of four. Numbers have their least significant digit first. " +
        `The run learned sums of two numbers of ${plural(digits, "digit")}.`,
    ),
    el(
      "ul",
      { class: "suggestions" },
      examples.map((goal) =>
        el("li", {}, el("a", { href: link("ask", { q: goal }) }, el("code", {}, goal))),
      ),
    ),
  );
}

function list(result, q, picked) {
  return el(
    "div",
    { class: "answer-box" },
    el(
      "ol",
      { class: "answer-list plain" },
      result.answers.map((answer, at) =>
        el(
          "li",
          {},
          el(
            "a",
            {
              class: "answer-open",
              href: link("ask", { q, open: String(at) }),
              "aria-current": at === picked ? "true" : null,
            },
            el("span", { class: "rank" }, at + 1),
            el(
              "span",
              { class: "answer-name" },
              term(bound(answer.bindings)),
              !answer.certain && chip("another may be more probable", "warn"),
            ),
            bar(answer.probability, `probability ${probability(answer.probability)}`),
            el("span", { class: "number" }, probability(answer.probability)),
          ),
        ),
      ),
    ),
  );
}

const bound = (bindings) =>
  Object.entries(bindings)
    .map(([name, value]) => `${name} = ${value}`)
    .join(", ") || "true";

function proof(result, picked) {
  const answer = result.answers[picked];
  const card = proofCard(answer.proof, answer, 0, { linked: false });
  card.querySelector("h4").textContent = `Best proof of ${bound(answer.bindings)}`;
  return card;
}

// The pictures that the query names, with the data set's labels.
function pictures({ shown, pictures: labels }) {
  const names = Object.keys(shown);
  if (!names.length) return null;
  const more = Object.keys(labels).length - names.length;
  return el(
    "div",
    { class: "pictures" },
    names.map((name) =>
      el(
        "figure",
        { class: "picture" },
        drawn(shown[name], `${name}, labelled ${labels[name]}`),
        el(
          "figcaption",
          {},
          el("code", {}, name),
          el("span", { class: "soft" }, ` is ${labels[name]}`),
        ),
      ),
    ),
    more > 0 && el("p", { class: "soft" }, `and ${plural(more, "picture")} that are not shown`),
  );
}

function drawn(rows, name) {
  const [height, width] = [rows.length, rows[0].length];
  const canvas = el("canvas", { width, height, role: "img", "aria-label": name });
  const size = Math.max(SCALE, Math.round(64 / width));
  canvas.style.setProperty("--side", `${size * width}px`);
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  rows.flat().forEach((value, at) => image.data.set([value, value, value, 255], 4 * at));
  context.putImageData(image, 0, 0);
  return canvas;
}
