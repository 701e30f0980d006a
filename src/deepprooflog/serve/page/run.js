// A run: its figures, curves, relations, calibration, and rules by weight.

import { get } from "./api.js";
import { calibrationChart, lineChart } from "./charts.js";
import { el, show } from "./dom.js";
import { bar, empty, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { figure, plural, shortened } from "./text.js";

const FIRST = ["mrr", "hits@1", "hits@3", "hits@10", "auc_pr"];

/** The view of a run. */
export async function runView(root) {
  show(root, waiting("Reading the run"));
  const run = await get("/api/run");
  show(root,
    el("h2", {}, "Run"),
    headline(run),
    el("div", { class: "charts" }, curves(run.curves), calibrationChart(bins(run.calibration))),
    relations(run.relations ?? run.per_relation),
    rules(run.rules));
}

function headline(run) {
  const test = run.test ?? run.result?.test ?? run.figures;
  if (!test) return empty("Not evaluated yet", el("p", {}, el("code", {}, "dprl evaluate RUN"), " ranks the test triples."));
  return el("dl", { class: "counts" }, FIRST.filter((name) => typeof test[name] === "number").map((name) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, test[name].toFixed(4)))));
}

function curves(given) {
  const rows = Array.isArray(given) ? given : null;
  const series = rows
    ? Object.keys(rows[0] ?? {}).filter((key) => !["step", "epoch", "seconds"].includes(key))
      .map((name) => ({ name, points: rows.filter((row) => typeof row[name] === "number").map((row) => [row.step ?? row.epoch, row[name]]) }))
    : Object.entries(given ?? {}).map(([name, points]) => ({ name, points: points.map((one) => (Array.isArray(one) ? one : [one.step, one.value])) }));
  const drawn = series.filter((one) => one.points.length);
  if (!drawn.length) return empty("No curves", el("p", {}, "This run recorded no training steps."));
  return drawn.map((one) => lineChart(one.name, [one]));
}

function bins(given) {
  return (given?.bins ?? given ?? []).map((bin) => ({
    predicted: bin.predicted ?? bin.mean ?? bin.confidence, observed: bin.observed ?? bin.share ?? bin.accuracy, count: bin.count,
  }));
}

/** A table whose columns sort it: `columns` are {name, title, cell, value, number}. */
function sortable(caption, columns, rows) {
  let by = null;
  let down = true;
  const body = el("tbody", {});
  const heads = columns.map((column) => el("th", { scope: "col", class: column.number ? "right" : null },
    el("button", { type: "button", class: "sort", onclick: () => {
      down = by === column ? !down : column.number;
      by = column;
      draw();
    } }, column.title)));
  function draw() {
    const order = by === null ? rows : [...rows].sort((a, b) => {
      const [x, y] = [by.value(a), by.value(b)];
      const sign = typeof x === "string" ? x.localeCompare(y) : (x ?? -Infinity) - (y ?? -Infinity);
      return down ? -sign : sign;
    });
    show(body, order.map((row) => el("tr", {}, columns.map((column) => el("td", { class: column.number ? "number" : null }, column.cell(row))))));
    heads.forEach((head, at) => {
      if (columns[at] === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }
  draw();
  return el("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, heads)), body));
}

function relations(given) {
  const rows = Array.isArray(given) ? given : Object.entries(given ?? {}).map(([relation, one]) => ({ relation, ...one }));
  if (!rows.length) return null;
  const names = ["lists", ...FIRST].filter((name) => typeof rows[0][name] === "number");
  const columns = [
    { title: "relation", value: (row) => row.relation, cell: (row) => el("a", { href: link("ask", { q: `${row.relation}(X, Y)` }) }, el("code", {}, shortened(row.relation, 80))) },
    { title: "mrr as a bar", value: (row) => row.mrr, number: true, cell: (row) => bar(row.mrr ?? 0, `mrr ${figure(row.mrr)}`) },
    ...names.map((name) => ({ title: name, number: true, value: (row) => row[name], cell: (row) => (name === "lists" ? figure(row[name]) : row[name]?.toFixed(3) ?? "–") })),
  ];
  return el("section", {}, el("h3", {}, "By relation"), sortable("By relation", columns, rows));
}

function rules(given) {
  const rows = given ?? [];
  if (!rows.length) return null;
  const heaviest = Math.max(...rows.map((row) => row.weight ?? 0), 1e-9);
  const sorted = [...rows].sort((a, b) => (b.weight ?? -1) - (a.weight ?? -1));
  const columns = [
    { title: "weight", number: true, value: (row) => row.weight, cell: (row) => (row.weight === null || row.weight === undefined ? "–" : row.weight.toFixed(3)) },
    { title: "as a bar", number: true, value: (row) => row.weight, cell: (row) => bar((row.weight ?? 0) / heaviest, `weight ${figure(row.weight)}`) },
    { title: "rule", value: (row) => text(row), cell: (row) => term(text(row)) },
    { title: "confidence", number: true, value: (row) => row.confidence, cell: (row) => row.confidence?.toFixed(3) ?? "–" },
    { title: "support", number: true, value: (row) => row.support, cell: (row) => figure(row.support) },
  ];
  return el("section", {}, el("h3", {}, "Rules by weight ", el("span", { class: "soft" }, plural(rows.length, "rule"))), sortable("Rules by weight", columns, sorted));
}

const text = (row) => row.rule ?? row.text ?? row.clause;
