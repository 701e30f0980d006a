// Small pieces that several views show: atoms, bars, chips, what went wrong, what is awaited.

import { el } from "./dom.js";
import { readTerm } from "./prolog.js";
import { link } from "./routes.js";
import { oneLine, probability, shortened, spaced } from "./text.js";

/** A term in the type of programs; long names are cut, the whole stands in the title. */
export function term(text, attributes = {}) {
  const whole = spaced(oneLine(text));
  const shown = shortened(whole, 400);
  const title = shown === whole ? null : whole.slice(0, 2000);
  return el("code", { class: "term", title, ...attributes }, shown);
}

/** An atom whose arguments lead to what is known about them, where `linked`. */
export function atom(text, linked = false) {
  const read = readTerm(text);
  if (!linked || !read.args) return term(text);
  const parts = read.args.flatMap((arg, at) => [at ? ", " : "", entity(arg)]);
  return el("code", { class: "term" }, `${shortened(read.name, 200)}(`, parts, ")");
}

/** An entity, leading to the facts about it. */
export function entity(name) {
  if (readTerm(name).variable) return shortened(name, 200);
  return el(
    "a",
    { class: "entity", href: link("facts", { about: name }), title: "What is known about it" },
    shortened(name, 200),
  );
}

/** A probability as a bar: by proofs, with belief, and what limits left open. */
export function splitBar(answer) {
  const { probability: p, by_proof: proofs = p, upper = p } = answer;
  const rest = Math.max(0, p - proofs);
  const open = Math.max(0, Math.min(1, upper) - p);
  const said = [`probability ${probability(p)}`];
  if (answer.by_proof !== undefined) {
    said.push(`by proofs ${probability(proofs)}`, `with belief ${probability(rest)}`);
  }
  if (open > 5e-5) said.push(`at most ${probability(upper)}`);
  return el(
    "span",
    { class: "bar", role: "img", "aria-label": said.join(", "), title: said.join(" · ") },
    el("i", { class: "by-proof", "--share": `${100 * Math.min(1, proofs)}%` }),
    el("i", { class: "by-belief", "--share": `${100 * Math.min(1, rest)}%` }),
    open > 5e-5 && el("i", { class: "left-open", "--share": `${100 * open}%` }),
  );
}

/** A plain bar of one share. */
export function bar(share, name) {
  const width = `${100 * Math.max(0, Math.min(1, share))}%`;
  return el(
    "span",
    { class: "bar", role: "img", "aria-label": name },
    el("i", { class: "by-proof", "--share": width }),
  );
}

/** The key to the bars' colours. */
export function legend(belief = true) {
  return el(
    "p",
    { class: "legend" },
    el("span", { class: "key" }, el("i", { class: "by-proof" }), "by proofs"),
    belief && el("span", { class: "key" }, el("i", { class: "by-belief" }), "with belief"),
  );
}

export function chip(text, kind = "") {
  return el("span", { class: `chip ${kind}` }, text);
}

/** What went wrong, where, and what to try. */
export function problem(error, text = null) {
  const caret = text !== null && error.column ? caretLine(text, error) : null;
  return el(
    "div",
    { class: "note bad", role: "alert" },
    el("p", {}, el("strong", {}, sentence(shortened(error.message, 600)))),
    caret,
    error.hint && el("p", { class: "hint" }, "Try: ", shortened(error.hint, 600)),
  );
}

function caretLine(text, { line, column }) {
  const row = oneLine(text.split("\n")[(line ?? 1) - 1] ?? "");
  const from = Math.max(0, column - 61);
  const shown = row.slice(from, from + 120);
  return el("pre", { class: "caret" }, `${shown}\n${" ".repeat(column - 1 - from)}^`);
}

function sentence(text) {
  return /[.!?]$/u.test(text) ? text : `${text}.`;
}

/** What the server says beside a result: warnings, and what the program printed. */
export function remarks({ notes = [], output = "" }) {
  return [
    notes.map((text) => el("p", { class: "note warn" }, shortened(text, 600))),
    output &&
      el(
        "figure",
        { class: "output" },
        el("figcaption", {}, "Printed"),
        el("pre", {}, output.split("\n").map(oneLine).join("\n")),
      ),
  ];
}

/** An empty place, with what would fill it. */
export function empty(title, ...what) {
  return el(
    "div",
    { class: "empty" },
    el("p", { class: "empty-title" }, title),
    what.length ? el("div", { class: "empty-what" }, what) : null,
  );
}

/** Work in progress, shown only when it lasts. */
export function waiting(what) {
  return el(
    "p",
    { class: "waiting", role: "status" },
    el("i", { class: "spinner", "aria-hidden": "true" }),
    what,
  );
}

export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}
