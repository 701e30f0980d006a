// A text field that completes names: an ARIA combobox with a list below it.

import { get } from "./api.js";
import { el, newId, show } from "./dom.js";
import { shortened } from "./text.js";

/**
 * Give an input completion. `suggest(text, at)` answers with {start, items: [{text, kind, insert}],
 * more}: the names that may stand from `start` to the cursor, and whether there are others.
 */
export function combobox(input, { suggest, wait = 90 }) {
  const id = newId("names");
  const list = el("ul", {
    id,
    class: "options",
    role: "listbox",
    "aria-label": "Names",
    hidden: true,
  });
  input.after(list);
  for (const [name, value] of Object.entries({
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": id,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: "false",
  })) {
    input.setAttribute(name, value);
  }

  let items = [];
  let start = 0;
  let active = -1;
  let timer = 0;
  let asked = 0;

  function close() {
    clearTimeout(timer);
    asked += 1;
    items = [];
    active = -1;
    list.hidden = true;
    list.replaceChildren();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function mark(next) {
    list.children[active]?.setAttribute("aria-selected", "false");
    active = next;
    const option = list.children[active];
    if (!option) {
      input.removeAttribute("aria-activedescendant");
      return;
    }
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option.id);
  }

  function accept(at) {
    const item = items[at];
    const end = input.selectionStart;
    const text = item.insert ?? item.text;
    input.setRangeText(text, start, end, "end");
    close();
    input.focus();
    if (text.endsWith("(")) open();
  }

  async function open() {
    asked += 1;
    const mine = asked;
    let answer;
    try {
      answer = await suggest(input.value, input.selectionStart);
    } catch {
      return; // completion is a convenience: asking the query says what is wrong
    }
    if (mine !== asked || document.activeElement !== input) return;
    if (!answer.items.length) {
      close();
      return;
    }
    ({ start, items } = answer);
    active = -1;
    show(
      list,
      items.map((item, at) => option(item, at)),
    );
    list.dataset.more = answer.more ? "type on for more" : "";
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    input.removeAttribute("aria-activedescendant");
  }

  function option(item, at) {
    return el(
      "li",
      {
        id: `${id}-${at}`,
        role: "option",
        "aria-selected": "false",
        // Not `click`: the field must keep the focus.
        onmousedown: (event) => {
          event.preventDefault();
          accept(at);
        },
      },
      el("span", { class: "term" }, shortened(item.text, 120)),
      el("span", { class: "kind-name" }, item.kind),
    );
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(open, wait);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) open();
      else {
        const by = event.key === "ArrowDown" ? 1 : -1;
        const count = items.length + 1; // one place for "none of them": the text as typed
        mark(((active + 1 + by + count) % count) - 1);
      }
    } else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) {
      event.preventDefault();
      accept(active);
    } else if (event.key === "Enter") close();
  });
  return { close };
}

/** What may stand at a place of a goal: predicates, and entities between parentheses. */
export async function suggestGoal(text, at) {
  const answer = await get(`/api/complete?${new URLSearchParams({ prefix: text, at })}`);
  const called = text[at] === "(";
  const insert = ({ kind, text: name }) => (kind === "predicate" && !called ? `${name}(` : name);
  return {
    start: answer.from,
    more: answer.more,
    items: answer.items.map((item) => ({ ...item, insert: insert(item) })),
  };
}

/** Which entities begin with a text. */
export async function suggestEntity(text, at) {
  const { items, more } = await get(
    `/api/complete?${new URLSearchParams({ prefix: `(${text.slice(0, at)}` })}`,
  );
  return { start: 0, more, items };
}
