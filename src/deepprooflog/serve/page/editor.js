// An editor for a program: a text area with line numbers, and marks where something is wrong.

import { el, show } from "./dom.js";
import { oneLine } from "./text.js";

/** The editor; `onText` is called when typing pauses, `mark` shows errors, `point` lights a line up. */
export function editor(text, { onText, wait = 350 }) {
  const area = el("textarea", {
    class: "code",
    "aria-label": "Program",
    spellcheck: "false",
    autocapitalize: "none",
    autocomplete: "off",
    wrap: "off",
  });
  area.value = text;
  const gutter = el("div", { class: "gutter", "aria-hidden": "true" });
  const marks = el("div", { class: "marks", "aria-hidden": "true" });
  const messages = el("ul", { class: "messages", "aria-live": "polite" });
  let errors = [];
  let lit = null;
  let timer = 0;

  function number() {
    const lines = area.value.split("\n").length;
    const wrong = new Set(errors.map((error) => error.line));
    show(
      gutter,
      Array.from({ length: lines }, (_, at) =>
        el(
          "span",
          { class: `${wrong.has(at + 1) ? "wrong" : ""} ${lit === at + 1 ? "lit" : ""}` },
          at + 1,
        ),
      ),
    );
    const rows = [...wrong]
      .filter((line) => line)
      .map((line) => el("i", { class: "wrong", "--line": line - 1 }));
    show(marks, rows, lit && el("i", { class: "lit", "--line": lit - 1 }));
    scroll();
  }

  function scroll() {
    gutter.scrollTop = area.scrollTop;
    marks.style.setProperty("--scrolled", `${area.scrollTop}px`);
  }

  function mark(found) {
    errors = found;
    show(
      messages,
      found.map((error) =>
        el(
          "li",
          {},
          el(
            "button",
            { type: "button", class: "message", onclick: () => goTo(error) },
            error.line
              ? el(
                  "span",
                  { class: "where" },
                  `line ${error.line}${error.column ? `, column ${error.column}` : ""}`,
                )
              : null,
            el("span", {}, oneLine(error.message).slice(0, 500)),
            error.hint &&
              el("span", { class: "hint" }, `Try: ${oneLine(error.hint).slice(0, 300)}`),
          ),
        ),
      ),
    );
    area.setAttribute("aria-invalid", String(found.length > 0));
    number();
  }

  function goTo({ line, column }) {
    const lines = area.value.split("\n");
    const start =
      lines.slice(0, (line ?? 1) - 1).reduce((sum, one) => sum + one.length + 1, 0) +
      (column ?? 1) -
      1;
    area.focus();
    area.setSelectionRange(start, start);
  }

  area.addEventListener("scroll", scroll);
  area.addEventListener("input", () => {
    number();
    clearTimeout(timer);
    timer = setTimeout(() => onText(area.value), wait);
  });
  // Tab moves on, as everywhere: an editor must not keep the keyboard.
  number();
  return {
    element: el(
      "div",
      { class: "editor" },
      el("div", { class: "editor-box" }, gutter, el("div", { class: "paper" }, marks, area)),
      messages,
    ),
    mark,
    point: (line) => {
      if (lit === line) return;
      lit = line;
      number();
    },
    flush: async () => {
      clearTimeout(timer);
      await onText(area.value);
    },
  };
}
