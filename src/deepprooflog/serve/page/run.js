// A run: its figures, curves, relations, calibration, and rules by weight.

import { get } from "./api.js";
import { calibrationChart, lineChart } from "./charts.js";
import { el, show } from "./dom.js";
import { bar, empty, term, waiting } from "./parts.js";
import { link } from "./routes.js";
import { figure, plural, shortened } from "./text.js";

const SUMS = ["sum_accuracy", "sum_accuracy_regrouped", "digit_accuracy"];
const FIRST = ["mrr", "hits@1", "hits@3", "hits@10", "auc_pr"];

/** The view of a run. */
export async function runView(root) {
  show(root, waiting("Reading the run"));
  const run = await get("/api/run");
  show(
    root,
    el("h2", {}, "Run"),
    headline(run.test),
    el("div", { class: "charts" }, curves(run.curves), calibration(run.reliability)),
    relations(run.relations),
    rules(run.rules),
  );
}

function headline(test) {
  const names = [...FIRST, ...SUMS].filter((name) => typeof test[name] === "number");
  if (!names.length)
    return empty(
      "Not evaluated yet",
      el("p", {}, el("code", {}, "dprl evaluate RUN"), " does it."),
    );
  const how = [
    ["protocol", test.protocol],
    ["test triples", test.queries],
    ["test sums", test.test_sums],
  ].filter(([, value]) => value !== undefined);
  return el(
    "dl",
    { class: "counts" },
    names.map((name) => el("div", {}, el("dt", {}, name.replaceAll("_", " ")), el("dd", {}, test[name].toFixed(4)))),
    how.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, figure(value)))),
  );
}

// `given`: points [step, value] by the name of the metric.
function curves(given) {
  const drawn = Object.entries(given).filter(
    ([name, points]) => points.length && name !== "seconds",
  );
  if (!drawn.length) return empty("No curves", el("p", {}, "This run recorded no training steps."));
  return drawn.map(([name, points]) => lineChart(name, [{ name, points }]));
}

function calibration(given) {
  if (!given) return null;
  const bins = given.bins.map((bin) => ({
    predicted: bin.mean,
    observed: bin.share,
    count: bin.count,
  }));
  return calibrationChart(
    bins,
    `Of ${plural(given.triples, "triple")} of validation and corruptions of them, ${given.truths.toLocaleString("en")} hold. ` +
      `Calibration error ${given.error.toFixed(4)}, Brier score ${given.brier.toFixed(4)}. A larger dot is more triples.`,
  );
}

/**
 * A table whose columns sort it: `columns` are {name, title, cell, value, number, wide}; one that is
 * `wide` repeats another, and is shown where there is room.
 */
function sortable(caption, columns, rows) {
  let by = null;
  let down = true;
  const body = el("tbody", {});
  const heads = columns.map((column) =>
    el(
      "th",
      { scope: "col", class: classes(column, "right") },
      el(
        "button",
        {
          type: "button",
          class: "sort",
          onclick: () => {
            down = by === column ? !down : column.number;
            by = column;
            draw();
          },
        },
        column.title,
      ),
    ),
  );
  function draw() {
    const order =
      by === null
        ? rows
        : [...rows].sort((a, b) => {
            const [x, y] = [by.value(a), by.value(b)];
            const sign =
              typeof x === "string" ? x.localeCompare(y) : (x ?? -Infinity) - (y ?? -Infinity);
            return down ? -sign : sign;
          });
    show(
      body,
      order.map((row) =>
        el(
          "tr",
          {},
          columns.map((column) =>
            el("td", { class: classes(column, "number") }, column.cell(row)),
          ),
        ),
      ),
    );
    heads.forEach((head, at) => {
      if (columns[at] === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }
  draw();
  return el(
    "div",
    { class: "table-box", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: "sortable" }, el("thead", {}, el("tr", {}, heads)), body),
  );
}

function classes(column, number) {
  return [column.number && number, column.wide && "wide"].filter(Boolean).join(" ") || null;
}

function relations(given) {
  const rows = Object.entries(given).map(([relation, one]) => ({ relation, ...one }));
  if (!rows.length) return null;
  const names = ["lists", ...FIRST].filter((name) => typeof rows[0][name] === "number");
  const columns = [
    {
      title: "relation",
      value: (row) => row.relation,
      cell: (row) =>
        el(
          "a",
          { href: link("ask", { q: `${row.relation}(X, Y)` }) },
          el("code", {}, shortened(row.relation, 80)),
        ),
    },
    {
      title: "mrr as a bar",
      value: (row) => row.mrr,
      number: true,
      wide: true,
      cell: (row) => bar(row.mrr ?? 0, `mrr ${figure(row.mrr)}`),
    },
    ...names.map((name) => ({
      title: name,
      number: true,
      value: (row) => row[name],
      cell: (row) => (name === "lists" ? figure(row[name]) : (row[name]?.toFixed(3) ?? "–")),
    })),
  ];
  return el("section", {}, el("h3", {}, "By relation"), sortable("By relation", columns, rows));
}

function rules(rows) {
  if (!rows.length) return null;
  const heaviest = Math.max(...rows.map((row) => row.weight ?? 0), 1e-9);
  const sorted = [...rows].sort((a, b) => (b.weight ?? -1) - (a.weight ?? -1));
  const columns = [
    {
      title: "weight",
      number: true,
      value: (row) => row.weight,
      cell: (row) =>
        row.weight === null || row.weight === undefined ? "–" : row.weight.toFixed(3),
    },
    {
      title: "as a bar",
      number: true,
      wide: true,
      value: (row) => row.weight,
      cell: (row) => bar((row.weight ?? 0) / heaviest, `weight ${figure(row.weight)}`),
    },
    { title: "rule", value: (row) => row.rule, cell: (row) => term(row.rule) },
    {
      title: "confidence",
      number: true,
      value: (row) => row.confidence,
      cell: (row) => row.confidence?.toFixed(3) ?? "–",
    },
    {
      title: "support",
      number: true,
      value: (row) => row.support,
      cell: (row) => figure(row.support),
    },
  ];
  return el(
    "section",
    {},
    el("h3", {}, "Rules by weight ", el("span", { class: "soft" }, plural(rows.length, "rule"))),
    sortable("Rules by weight", columns, sorted),
  );
}
