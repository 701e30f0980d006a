// Numbers and names as a reader sees them.

// Characters that would break a line, hide, or reorder what stands around them.
const HIDDEN = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;
const NAMED = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\v": "\\v", "\f": "\\f", "\b": "\\b" };

/** The text on one line: control and direction characters as Prolog escapes, all else as it is. */
export function oneLine(text) {
  return String(text).replace(HIDDEN, (c) => NAMED[c] ?? `\\x${c.codePointAt(0).toString(16)}\\`);
}

/** An atom's text with a blank after each comma outside quotes, as people write it. */
export function spaced(text) {
  const quoted = /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|,(?=\S)/gsu;
  return text.replace(quoted, (part) => (part === "," ? ", " : part));
}

/** A name cut to `most` characters, with how many were left out. */
export function shortened(text, most = 160) {
  const whole = oneLine(text);
  if (whole.length <= most) return whole;
  const left = (whole.length - most).toLocaleString("en");
  return `${whole.slice(0, most)}… (${left} more characters)`;
}

/** A probability with four decimals; 1 and 0 only for 1 and 0. */
export function probability(p) {
  if (p === null || p === undefined) return "–";
  if (p === 0) return "0";
  if (p < 0.00005) return p.toExponential(1).replace("e-", "e−");
  if (p < 1 && p > 0.99995) return ">0.9999";
  return p.toFixed(4);
}

/** A difference of probabilities with its sign. */
export function difference(d) {
  if (Math.abs(d) < 0.00005) return "±0.0000";
  return `${d < 0 ? "−" : "+"}${Math.abs(d).toFixed(4)}`;
}

/** Any number with its sign, to so many decimals. */
export function signed(value, decimals = 2) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(decimals)}`;
}

/** A number of a table: four significant digits. */
export function figure(value) {
  if (typeof value !== "number") return value === null || value === undefined ? "–" : String(value);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(4);
}

/** "1 answer", "2 answers", "2,000 answers". */
export function plural(count, one, many = `${one}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Seconds, as short as they are. */
export function seconds(value) {
  if (value < 0.0095) return `${(value * 1000).toFixed(1)} ms`;
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 1 : 0)} s`;
}
