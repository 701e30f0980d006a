"""A proof as one self-contained page: a tree that folds, a search box, light and dark.

Steps nest as `<details>` to depth 24; below that they stand in a flat list, each with its depth,
since browsers stop nesting elements at about 500 levels. Laying out 100,000 rows takes a browser
minutes, so a long flat list comes in folded chunks and a large proof opens with only its first
levels unfolded. Every step is in the page, and the search finds the folded ones.
"""

from __future__ import annotations

import math
from html import escape

from deepprooflog.proof.render.svg import PALETTE
from deepprooflog.proof.render.text import (
    binding_lines,
    label_lines,
    one_line,
    probability_text,
    query_text,
    reason_text,
)
from deepprooflog.proof.tree import Node, Proof, children

NESTED = 24
CHUNK = 500
_LARGE, _UNFOLDED = 2_000, 3  # a proof of more steps opens with only so many levels unfolded


def to_html(proof: Proof) -> str:
    """The proof as an HTML document; it loads nothing, and its policy forbids it to."""
    query = escape(query_text(proof))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>Proof of {query}</title>
<style>{_CSS}{_kind_colours()}</style>
</head>
<body>
<header>
<h1><code>{query}</code></h1>
{_facts(proof)}
<div class="tools" role="search">
<input id="find" type="search" placeholder="Search the steps" aria-label="Search the steps"
 autocomplete="off" spellcheck="false">
<button id="open" type="button">Unfold all</button>
<button id="close" type="button">Fold all</button>
<output id="found" aria-live="polite"></output>
</div>
</header>
<main aria-label="Proof tree">
{_tree(proof)}
</main>
<script>{_SCRIPT}</script>
</body>
</html>
"""


def _facts(proof: Proof) -> str:
    rows = "".join(f"<li><code>{escape(line)}</code></li>" for line in binding_lines(proof))
    bindings = f'<ul class="bindings" aria-label="Bindings">{rows}</ul>\n' if rows else ""
    rows = "".join(f"<li>{escape(line)}</li>" for line in label_lines(proof))
    bindings += f'<ul class="bindings" aria-label="Labels">{rows}</ul>\n' if rows else ""
    steps = "1 step" if len(proof.nodes) == 1 else f"{len(proof.nodes):,} steps"
    return (
        f'{bindings}<p class="total">{_meter(proof.log_prob, "probability of this derivation")} '
        f"<span>of this derivation, {steps}</span></p>"
    )


def _tree(proof: Proof) -> str:
    nodes = proof.nodes
    _, below = children(nodes)
    unfolded = NESTED if len(nodes) <= _LARGE else _UNFOLDED
    parts = ['<ul class="tree">']
    depth = 0  # of the list that is open
    index = 0
    while index < len(nodes):
        node = nodes[index]
        level = min(node.depth, NESTED)
        parts += ["</ul></details></li>"] * (depth - level)
        depth = level
        if node.depth >= NESTED:
            end = index
            while end < len(nodes) and nodes[end].depth >= NESTED:
                end += 1
            parts += _flat(nodes, index, end)
            index = end
            continue
        row = _step(node)
        if below[index]:
            mark = " open" if node.depth < unfolded else ""
            parts.append(f'<li><details{mark}><summary class="step">{row}</summary><ul>')
            depth += 1
        else:
            parts.append(f'<li><div class="step">{row}</div></li>')
        index += 1
    parts += ["</ul></details></li>"] * depth
    parts.append("</ul>")
    if any(node.depth > NESTED for node in nodes):
        parts.append(
            f'<p class="note">Steps deeper than {NESTED} are listed without nesting, '
            "each with its depth.</p>"
        )
    return "\n".join(parts)


def _flat(nodes: tuple[Node, ...], start: int, end: int) -> list[str]:
    rows = [f'<li><div class="step">{_step(node)}</div></li>' for node in nodes[start:end]]
    if len(rows) <= CHUNK:
        return rows
    parts = []
    for first in range(0, len(rows), CHUNK):
        last = min(first + CHUNK, len(rows))
        name = f"steps {start + first + 1:,} to {start + last:,}"
        mark = "" if first else " open"
        parts.append(f'<li><details class="chunk"{mark}><summary>{name}</summary><ul>')
        parts += [*rows[first:last], "</ul></details></li>"]
    return parts


def _step(node: Node) -> str:
    deep = f'<span class="depth">depth {node.depth}</span> ' if node.depth >= NESTED else ""
    reason = escape(reason_text(node))
    parts = [
        f'{deep}<code class="atom">{escape(one_line(node.atom))}</code>',
        _meter(node.log_weight, "step probability"),
        f'<span class="kind {node.kind}">{node.kind}</span>',
    ]
    if reason:
        parts.append(f'<code class="reason">{reason}</code>')
    if node.place:
        parts.append(f'<span class="place">{escape(one_line(node.place))}</span>')
    return " ".join(parts)


def _meter(log_prob: float, name: str) -> str:
    value = min(1.0, math.exp(log_prob))
    number = probability_text(log_prob)
    return (
        f'<span class="meter" role="meter" aria-label="{name}" aria-valuemin="0" '
        f'aria-valuemax="1" aria-valuenow="{value:.6g}" aria-valuetext="{number}">'
        f'<i style="width:{100 * value:.3g}%"></i></span> <span class="number">{number}</span>'
    )


def _kind_colours() -> str:
    light = "".join(f".{kind}{{--kind:{colours[0]}}}" for kind, colours in PALETTE.items())
    dark = "".join(f".{kind}{{--kind:{colours[1]}}}" for kind, colours in PALETTE.items())
    return f"{light}@media (prefers-color-scheme:dark){{{dark}}}"


_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

_CSS = """
:root{color-scheme:light dark;--page:#fff;--ink:#1f2328;--faint:#59636e;--line:#d1d9e0;
--soft:#f6f8fa;--bar:#0969da;--hit:#fff8c5}
@media (prefers-color-scheme:dark){:root{--page:#0d1117;--ink:#e6edf3;--faint:#9198a1;
--line:#30363d;--soft:#161b22;--bar:#58a6ff;--hit:#4b3b00}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
white-space:pre-wrap;overflow-wrap:anywhere}
header{position:sticky;top:0;z-index:1;padding:16px 24px 12px;background:var(--soft);
border-bottom:1px solid var(--line)}
h1{margin:0;font-size:1rem;max-height:6em;overflow:auto}
h1 code{font-size:18px;font-weight:600}
.bindings{display:flex;flex-wrap:wrap;gap:4px 20px;margin:6px 0 0;padding:0;list-style:none;
max-height:6em;overflow:auto}
.total{margin:6px 0 10px;color:var(--faint)}
.total .number{font-weight:600;color:var(--ink)}
.tools{display:flex;flex-wrap:wrap;gap:8px;align-items:center}
input,button{font:inherit;color:inherit;padding:4px 10px;border:1px solid var(--line);
border-radius:6px;background:var(--page)}
input{width:min(22rem,100%)}
button{cursor:pointer}
:focus-visible{outline:2px solid var(--bar);outline-offset:1px}
output{color:var(--faint)}
main{padding:16px 24px 48px;overflow-x:auto}
main ul{margin:0;padding:0 0 0 9px;list-style:none}
main details>ul{margin-left:9px;padding-left:18px;border-left:1px solid var(--line)}
main ul.tree{padding-left:0}
.step{padding:3px 6px 3px 24px;border-radius:6px}
summary.step{cursor:pointer;list-style:none}
summary.step::-webkit-details-marker{display:none}
summary.step::before{content:"\\25B8";display:inline-block;width:18px;margin-left:-18px;
color:var(--faint)}
details[open]>summary.step::before{content:"\\25BE"}
.step:hover{background:var(--soft)}
.chunk>summary{cursor:pointer;padding:3px 6px;color:var(--faint)}
.atom{font-weight:600}
.reason,.place,.depth,.note{color:var(--faint)}
.place,.depth{font-size:12px}
.reason{font-size:12px;margin-left:4px}
.place::before{content:"\\00B7\\00A0"}
.meter{display:inline-block;width:48px;height:6px;margin-left:8px;border-radius:3px;
background:var(--line);overflow:hidden;vertical-align:middle}
.total .meter{width:120px;margin-left:0}
.meter i{display:block;height:100%;background:var(--bar)}
.number{font-variant-numeric:tabular-nums;font-size:13px}
.kind{margin-left:6px;padding:0 7px;border:1px solid var(--kind);border-radius:9px;
font-size:11px;color:var(--kind)}
.hit{background:var(--hit)!important}
.searching .step:not(.hit){opacity:.45}
.current{outline:2px solid var(--bar)}
"""

_SCRIPT = """
"use strict";
const rows = [...document.querySelectorAll(".step")];
const texts = rows.map(row => row.textContent.toLowerCase());
const folds = [...document.querySelectorAll("details")];
const find = document.getElementById("find"), found = document.getElementById("found");
let hits = [], at = -1, timer = 0;
function reveal(row) {
  for (let e = row.closest("details"); e; e = e.parentElement.closest("details")) e.open = true;
}
function search() {
  const wanted = find.value.trim().toLowerCase();
  if (at >= 0) hits[at].classList.remove("current");
  for (const row of hits) row.classList.remove("hit");
  hits = wanted ? rows.filter((row, i) => texts[i].includes(wanted)) : [];
  at = -1;
  document.body.classList.toggle("searching", wanted !== "");
  for (const row of hits) row.classList.add("hit");
  if (hits.length <= 300) hits.forEach(reveal);
  found.textContent = wanted
    ? `${hits.length} of ${rows.length} steps match` + (hits.length ? "; Enter for the next" : "")
    : "";
}
function step(by) {
  if (!hits.length) return;
  if (at >= 0) hits[at].classList.remove("current");
  at = at < 0 ? (by > 0 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
  hits[at].classList.add("current");
  reveal(hits[at]);
  hits[at].scrollIntoView({block: "center"});
  found.textContent = `match ${at + 1} of ${hits.length}`;
}
find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
find.addEventListener("keydown", event => {
  if (event.key !== "Enter") return;
  clearTimeout(timer);
  if (at < 0) search();
  step(event.shiftKey ? -1 : 1);
});
for (const [id, open] of [["open", true], ["close", false]]) {
  document.getElementById(id).addEventListener("click", () => folds.forEach(f => f.open = open));
}
"""
