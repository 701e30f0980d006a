"""`dprl plot RUN`: curves, ranks, relations and calibration of a run, as SVG or PNG."""

from __future__ import annotations

import argparse
from pathlib import Path

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, add_limits, command
from deepprooflog.cli.prove import write
from deepprooflog.errors import DataError

WHAT = ("all", "curves", "ranks", "relations", "calibration")
ENDINGS = (".svg", ".png")

EXAMPLE = """\
  dprl plot runs/family -o family.svg
  dprl plot runs/family --what calibration -o calibration.png

curves are the metrics of training; ranks and relations how test triples were ranked; calibration
asks the run how probable validation triples and corruptions are, and compares with what is true.
SVG needs nothing more; PNG is drawn by matplotlib (pip install 'deepprooflog[plot]').
JSON: {charts: [{title, kind: lines, x, series} or {title, kind: bars, values}], file}
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "plot", "the curves and figures of a trained run, drawn", EXAMPLE)
    parser.add_argument("run_folder", metavar="RUN", help="a folder that dprl train wrote")
    parser.add_argument("--what", choices=WHAT, default="all", help="default: all that there is")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="FILE.svg or FILE.png; default: SVG to the terminal"
    )
    add_limits(parser)
    parser.set_defaults(run=run, needs="deepprooflog.recipes.tasks")


def run(arguments: argparse.Namespace) -> int:
    """Draw, and write or print."""
    from deepprooflog.learn.run.charts import charts_svg, write_png
    from deepprooflog.learn.run.folder import open_run
    from deepprooflog.recipes.plot import charts_of

    output: str | None = arguments.output
    ending = ".svg" if output is None else Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise DataError(f"a picture ends in {' or '.join(ENDINGS)}", file=output)
    charts = charts_of(open_run(Path(arguments.run_folder)), arguments.what)
    if output is not None and ending == ".png":
        write_png(Path(output), charts)
    elif output is not None:
        write(output, charts_svg(charts))
    if arguments.json:
        report.emit_json({"charts": [chart.to_dict() for chart in charts], "file": output})
    elif output is None:
        report.emit_document(charts_svg(charts).rstrip("\n"), "svg")
    else:
        print(f"{len(charts)} charts in {output}" if len(charts) != 1 else f"a chart in {output}")
    return 0
