// As much of Prolog's syntax as showing a step needs: an atom's arguments, and which substitution
// took a clause to the atoms of its step. The server reads and proves; nothing here decides truth.

const CLOSING = { "(": ")", "[": "]", "{": "}" };

/** The parts of a text between top-level separators: quotes and brackets are skipped over. */
export function splitTop(text, separator, most = Infinity) {
  const parts = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (c === "'" || c === '"' || c === "`") {
      if (c === "'" && /\d/.test(text[at - 1] ?? "") && text[at - 1] === "0") continue; // 0'c
      at = endOfQuote(text, at);
    } else if (c in CLOSING) depth += 1;
    else if (c === ")" || c === "]" || c === "}") depth -= 1;
    else if (depth === 0 && parts.length + 1 < most && text.startsWith(separator, at)) {
      parts.push(text.slice(start, at).trim());
      at += separator.length - 1;
      start = at + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}

function endOfQuote(text, start) {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === quote) {
      if (text[at + 1] !== quote) return at;
      at += 1;
    }
  }
  return text.length;
}

/** A term in one of the shapes {variable}, {name, args}, {items, tail} or {} with its text. */
export function readTerm(source) {
  const text = source.trim();
  if (/^[A-Z_][\w]*$/u.test(text)) return { text, variable: text };
  if (text.startsWith("[") && text.endsWith("]")) {
    const [front, tail] = splitTop(text.slice(1, -1), "|", 2);
    return { text, items: front === "" ? [] : splitTop(front, ","), tail };
  }
  const open = text.startsWith("'") ? endOfQuote(text, 0) + 1 : text.search(/[^\w]/u);
  if (open > 0 && text[open] === "(" && closes(text, open)) {
    return { text, name: text.slice(0, open), args: splitTop(text.slice(open + 1, -1), ",") };
  }
  return { text };
}

/** The triple that an atom fact(r, a, b) of a walk stands for; null for any other atom. */
export function walkedTriple(source) {
  const { name, args } = readTerm(source);
  return name === "fact" && args?.length === 3 ? `${args[0]}(${args[1]},${args[2]})` : null;
}

function closes(text, open) {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "'" || text[at] === '"') at = endOfQuote(text, at);
    else if (text[at] in CLOSING) depth += 1;
    else if (")]}".includes(text[at])) {
      depth -= 1;
      if (depth === 0) return at === text.length - 1;
    }
  }
  return false;
}

function match(pattern, value, bindings) {
  if (pattern.variable) {
    if (pattern.variable !== "_" && !bindings.has(pattern.variable)) {
      bindings.set(pattern.variable, value.text);
    }
  } else if (pattern.args && value.args && pattern.name === value.name) {
    if (pattern.args.length !== value.args.length) return;
    pattern.args.forEach((arg, at) => match(readTerm(arg), readTerm(value.args[at]), bindings));
  } else if (pattern.items && value.items) {
    matchLists(pattern, value, bindings);
  }
}

function matchLists(pattern, value, bindings) {
  if (pattern.items.length > value.items.length) return;
  pattern.items.forEach((item, at) => match(readTerm(item), readTerm(value.items[at]), bindings));
  if (pattern.tail === undefined) return;
  const rest = value.items.slice(pattern.items.length).join(",");
  const tail = value.tail === undefined ? "" : `|${value.tail}`;
  const text = rest === "" && value.tail !== undefined ? value.tail : `[${rest}${tail}]`;
  match(readTerm(pattern.tail), readTerm(text), bindings);
}

/** The clause of a step in its parts. */
export function readClause(text) {
  const whole = text.trim().replace(/\.$/u, "");
  const labelled = splitTop(whole, "::", 2);
  const [head, body] = splitTop(labelled[labelled.length - 1], ":-", 2);
  return { head, body: body === undefined ? [] : splitTop(body, ",") };
}

/** The substitution of a step: its clause's variables, read off its atom and those below it. */
export function substitution(clause, atom, below) {
  const { head, body } = readClause(clause);
  const bindings = new Map();
  match(readTerm(head), readTerm(atom), bindings);
  const rest = [...below];
  for (const part of body) {
    const pattern = readTerm(part);
    const at = rest.findIndex((one) => sameShape(pattern, readTerm(one)));
    if (at >= 0) match(pattern, readTerm(rest.splice(at, 1)[0]), bindings);
  }
  return bindings;
}

function sameShape(a, b) {
  return a.args && b.args
    ? a.name === b.name && a.args.length === b.args.length
    : a.text === b.text;
}

/** The variables of a query. */
export function variables(query) {
  const bare = query.replace(/'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"/gu, "");
  return [...new Set(bare.match(/(?<![\w])[A-Z_]\w*/gu) ?? [])];
}
