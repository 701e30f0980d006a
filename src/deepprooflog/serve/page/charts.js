// Plots of our own: lines over steps, and predicted against observed shares.

import { el, svg } from "./dom.js";
import { figure } from "./text.js";

const WIDTH = 400;
const HEIGHT = 280;
const LEFT = 52;
const RIGHT = 14;
const TOP = 12;
const BOTTOM = 34;

/** Round numbers that enclose a range. */
export function ticks(low, high, most = 5) {
  if (low === high) return low === 0 ? [0, 1] : ticks(Math.min(0, low), Math.max(0, high), most);
  const rough = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, at) =>
    Number(((first + at) * step).toPrecision(12)),
  );
}

function frame(xs, ys, xName, name, height = HEIGHT, width = WIDTH) {
  const across = (x) => LEFT + ((x - xs[0]) / (xs[xs.length - 1] - xs[0])) * (width - LEFT - RIGHT);
  const down = (y) =>
    height - BOTTOM - ((y - ys[0]) / (ys[ys.length - 1] - ys[0])) * (height - TOP - BOTTOM);
  const picture = svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": name },
    ys.map((y) => [
      svg("path", { class: "grid", d: `M${LEFT} ${down(y)}H${width - RIGHT}` }),
      svg("text", { x: LEFT - 8, y: down(y) + 4, "text-anchor": "end" }, figureTick(y)),
    ]),
    xs.map((x) =>
      svg(
        "text",
        { x: across(x), y: height - BOTTOM + 16, "text-anchor": "middle" },
        figureTick(x),
      ),
    ),
    svg(
      "text",
      { x: width - RIGHT, y: height - 3, "text-anchor": "end", class: "axis-name" },
      xName,
    ),
  );
  return { picture, across, down };
}

const figureTick = (value) =>
  Math.abs(value) >= 10000 ? value.toLocaleString("en") : String(value);

/** Lines over steps: `series` are {name, points: [[x, y], …]}. */
export function lineChart(title, series, xName = "step") {
  const points = series.flatMap((one) => one.points);
  if (!points.length) return null;
  const xs = ticks(Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x)));
  const ys = ticks(Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y)));
  const last = series.map(
    (one) => `${one.name} ends at ${figure(one.points[one.points.length - 1][1])}`,
  );
  const { picture, across, down } = frame(xs, ys, xName, `${title}: ${last.join(", ")}`);
  series.forEach((one, at) => {
    const line = one.points.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`);
    picture.append(svg("polyline", { class: `line line-${at % 4}`, points: line.join(" ") }));
    if (one.points.length <= 30) {
      picture.append(
        ...one.points.map(([x, y]) =>
          svg(
            "circle",
            { class: `dot line-${at % 4}`, cx: across(x), cy: down(y), r: 3 },
            svg("title", {}, `${xName} ${figure(x)}: ${figure(y)}`),
          ),
        ),
      );
    }
  });
  const names =
    series.length > 1 &&
    el(
      "p",
      { class: "legend" },
      series.map((one, at) =>
        el("span", { class: "key" }, el("i", { class: `line-${at % 4}` }), one.name),
      ),
    );
  return el("figure", {}, el("figcaption", {}, title), picture, names || null);
}

/** A calibration plot: bins of {predicted, observed, count}, and what to say below it. */
export function calibrationChart(bins, note) {
  const filled = bins.filter((bin) => bin.count > 0);
  if (!filled.length) return null;
  const ends = [0, 0.2, 0.4, 0.6, 0.8, 1];
  const { picture, across, down } = frame(
    ends,
    ends,
    "predicted probability",
    "Calibration: predicted probability against the share that holds",
  );
  const most = Math.max(...filled.map((bin) => bin.count));
  picture.append(
    svg("path", { class: "diagonal", d: `M${across(0)} ${down(0)}L${across(1)} ${down(1)}` }),
  );
  picture.append(
    svg("polyline", {
      class: "line line-0",
      points: filled.map((bin) => `${across(bin.predicted)},${down(bin.observed)}`).join(" "),
    }),
  );
  picture.append(
    ...filled.map((bin) =>
      svg(
        "circle",
        {
          class: "dot line-0",
          cx: across(bin.predicted),
          cy: down(bin.observed),
          r: 3 + 5 * Math.sqrt(bin.count / most),
        },
        svg(
          "title",
          {},
          `${bin.count.toLocaleString("en")} triples: predicted ${figure(bin.predicted)}, hold ${figure(bin.observed)}`,
        ),
      ),
    ),
  );
  return el(
    "figure",
    { class: "square" },
    el("figcaption", {}, "Calibration"),
    picture,
    el("p", { class: "soft" }, note),
  );
}
