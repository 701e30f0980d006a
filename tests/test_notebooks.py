"""The tutorial notebooks run from top to bottom, and are looked at in a browser."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from ast import literal_eval
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
PICTURE = ROOT / "docs" / "images" / "notebook.png"
CHROMIUM = Path("/usr/bin/chromium")


@cache
def executed(name: str) -> Any:
    """A notebook with the outputs of its cells; an error in one fails the test."""
    path = ROOT / "examples" / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT / "src")
    try:
        client = nbclient.NotebookClient(
            notebook, timeout=300, kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
        )  # fmt: skip
        return client.execute()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def text_of(cell: Any) -> str:
    """What a cell printed and gave, as plain text."""
    outputs = cell.get("outputs", [])
    parts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join(parts)


def html_of(cell: Any) -> str:
    return "".join(o.get("data", {}).get("text/html", "") for o in cell.get("outputs", []))


def test_each_kind_of_user_has_one() -> None:
    """Whoever has triples, a network or rules; the page on notebooks and the site name all."""
    assert [path.stem for path in NOTEBOOKS] == ["graph", "perception", "program"]
    page = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for path in NOTEBOOKS:
        assert f"(notebooks/{path.stem}.md)" in page and f": notebooks/{path.stem}.md" in site


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kept_without_outputs(path: Path) -> None:
    nbformat.validate(nbformat.read(path, as_version=4))
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_perception() -> None:
    cells = [cell for cell in executed("perception").cells if cell.cell_type == "code"]
    shown = "\n".join(map(text_of, cells))
    found = re.search(r"(\d+)% before, (\d+)% after", shown)
    assert found is not None
    # Guessing reads one digit of ten.
    assert int(found[1]) < 25
    assert int(found[2]) > 90
    # scikit-learn's own labels of the two pictures are 0 and 6.
    assert "total(<tensor 0>,<tensor 1>,6)" in shown
    assert "in truth 6" in shown
    assert float(text_of(cells[-1])) > 0.9
    assert "<details" in html_of(cells[-2])


def test_program() -> None:
    cells = [cell for cell in executed("program").cells if cell.cell_type == "code"]
    assert "more/3, plain, 2 clauses" in html_of(cells[1])
    # By hand: Monday rain or sun, then Tuesday sun or rain.
    weeks = {"rain,sun": 0.4 * 0.8 * 0.4 * 0.9, "sun,sun": 0.6 * 0.1 * 0.8 * 0.9,
             "rain,rain": 0.4 * 0.8 * 0.6 * 0.2, "sun,rain": 0.6 * 0.1 * 0.2 * 0.2}  # fmt: skip
    asked = text_of(cells[2])
    assert float(asked.splitlines()[0]) == pytest.approx(sum(weeks.values()))
    answers = literal_eval(asked.partition("{")[1] + asked.partition("{")[2])
    assert answers == pytest.approx(
        {f"days([umbrella,nothing],[{w}])": p for w, p in weeks.items()}
    )
    assert "probability 0.1152" in html_of(cells[3])
    assert "missing first(snow)" in text_of(cells[4])
    # Ruin from 1: the root below 1 of r = 0.4 + 0.6 r².
    lower, upper = literal_eval(text_of(cells[5]))
    assert 0.66 < lower <= 2 / 3 <= upper <= 1
    # Shares of what was seen: 2 of 12 sunny days, 7 of 8 rainy ones.
    learned = re.findall(r'<td class="n">([\d.]+)</td>', html_of(cells[6]))
    assert [float(one) for one in learned] == pytest.approx([1 / 6, 5 / 6, 7 / 8, 1 / 8], abs=1e-4)
    asked_again = literal_eval(text_of(cells[7]))
    assert max(asked_again.values()) == pytest.approx(0.4 * 7 / 8 * 0.4 * 5 / 6, abs=1e-6)


def test_graph() -> None:
    cells = [cell for cell in executed("graph").cells if cell.cell_type == "code"]
    shown = list(map(text_of, cells))
    assert "182 entities" in shown[0]
    assert "150/150" in shown[1]  # the bar of progress, which a kernel's stream would not show
    # The village's test triples, which training never sees, have this father.
    answers = html_of(cells[2])
    test = (ROOT / "src" / "deepprooflog" / "data" / "village" / "test.pl").read_text()
    assert "father(caspar_ashgrove,max_ashgrove)." in test
    assert "caspar_ashgrove" in answers.split("</tr>")[1]
    assert "proof 1" in html_of(cells[3])
    assert "husband(A,B) :- wife(B,A)." in html_of(cells[4])
    assert "mrr" in html_of(cells[5])
    assert "caspar_ashgrove" in shown[6].splitlines()[1]


@pytest.mark.skipif(not CHROMIUM.exists(), reason="no /usr/bin/chromium (Debian: chromium)")
def test_a_picture_for_the_documentation(tmp_path: Path) -> None:
    """What three cells show, in a browser; DEEPPROOFLOG_SCREENSHOTS=1 keeps the picture."""
    sync_api = pytest.importorskip("playwright.sync_api")
    cells = [cell for cell in executed("graph").cells if cell.cell_type == "code"]
    page_file = tmp_path / "notebook.html"
    page_file.write_text(page_of(cells[2:5]), encoding="utf-8")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 920, "height": 900})
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        closed = page.locator("td details").first
        assert not page.locator("td details ul").first.is_visible()
        closed.locator("summary").first.click()
        assert page.locator("td details ul").first.is_visible()
        assert "caspar_ashgrove" in page.locator("tbody tr").first.inner_text()
        closed.locator("summary").first.click()
        wide = page.evaluate("document.documentElement.scrollWidth")
        # What a reader looks for stands within the picture, and is painted where it stands.
        places = {
            "the first cell": page.locator("pre").nth(0),
            "the answer": page.locator("tbody tr td", has_text="caspar_ashgrove").first,
            "the proof": page.get_by_text("proof 1").first,
            "a rule": page.get_by_text("husband(A,B) :- wife(B,A).").first,
        }
        boxes = {name: place.bounding_box() for name, place in places.items()}
        shot = page.screenshot()
        if os.environ.get("DEEPPROOFLOG_SCREENSHOTS"):
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_bytes(shot)
        taken, kept = (_pixels(browser, picture) for picture in (shot, PICTURE.read_bytes()))
        browser.close()
    assert not complaints
    assert asked == [page_file.as_uri()]
    assert wide <= 920
    assert taken.shape == (900, 920, 4)
    for name, box in boxes.items():
        assert box is not None and box["y"] + box["height"] <= 900, name
        x, y = round(box["x"]), round(box["y"])
        part = taken[y : y + round(box["height"]), x : x + round(box["width"])]
        assert 0.003 < dark(part) < 0.5, name
    # The picture that is kept is of the same page: its size, how much is written, in how many rows.
    assert kept.shape == taken.shape
    assert dark(kept) == pytest.approx(dark(taken), rel=0.3)
    rows = [int((_ink(picture).any(axis=1)).sum()) for picture in (kept, taken)]
    assert rows[0] == pytest.approx(rows[1], rel=0.2) and rows[0] > 300
    assert len(np.unique(kept.reshape(-1, 4), axis=0)) > 50


def _pixels(browser: Any, picture: bytes) -> Any:
    """A picture's pixels [height, width, 4], as the browser decodes it."""
    page = browser.new_page()
    size, values = page.evaluate(
        """async address => {
          const image = new Image();
          image.src = address;
          await image.decode();
          const canvas = new OffscreenCanvas(image.width, image.height);
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const {data} = context.getImageData(0, 0, image.width, image.height);
          let text = "";
          for (let at = 0; at < data.length; at += 30000)
            text += String.fromCharCode(...data.subarray(at, at + 30000));
          return [[image.height, image.width], btoa(text)];
        }""",
        f"data:image/png;base64,{base64.b64encode(picture).decode()}",
    )
    page.close()
    return np.frombuffer(base64.b64decode(values), dtype=np.uint8).reshape(*size, 4)


def _ink(picture: Any) -> Any:
    """Which pixels are dark enough to be writing."""
    return picture[..., :3].mean(axis=-1) < 140


def dark(picture: Any) -> float:
    """The share of a picture that is written on."""
    return float(_ink(picture).mean())


def page_of(cells: list[Any]) -> str:
    """Cells and what they gave, one below the other."""
    parts = []
    for number, cell in enumerate(cells, 3):
        source = html.escape(cell.source)
        parts.append(f'<div class="c"><b>[{number}]:</b><pre>{source}</pre></div>')
        parts.append(f'<div class="c"><b></b><div>{html_of(cell)}</div></div>')
    return f"""<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<style>body{{margin:16px 20px;font:14px system-ui,sans-serif;color:#1f2328}}
.c{{display:grid;grid-template-columns:44px 1fr;gap:8px;margin:6px 0}}
.c b{{color:#4a6fa5;font:13px monospace;padding-top:7px}}
pre{{margin:0;padding:7px 10px;background:#f6f8fa;border:1px solid #d1d9e0;border-radius:4px;
font:13px "DejaVu Sans Mono",monospace}}</style>{"".join(parts)}</html>"""
