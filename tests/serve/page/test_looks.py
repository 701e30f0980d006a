"""What every view looks like: contrast at AA in both colours, 360 pixels wide, calm where asked."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from serve.page.browsing import NewTab, Tab

TRIPLE = "uncle(abel_hollis,cora_hollis)"
OTHER = "uncle(klaus_ashgrove,cora_hollis)"
QUERY = "uncle(X, cora_hollis)"

# A view, its parameters, and something that is there when the view is.
RUN_VIEWS: dict[str, tuple[str, dict[str, str], str]] = {
    "start": ("", {}, ".suggestions li"),
    "answers": ("ask", {"q": QUERY}, ".answer-list li"),
    "answer": ("ask", {"q": QUERY, "open": TRIPLE}, ".detail .tree"),
    "why not": ("whynot", {"q": "uncle(otto_jessop,cora_hollis)"}, ".failed .tree"),
    "compare": ("compare", {"left": TRIPLE, "right": OTHER}, ".side .tree"),
    "step": ("step", {"q": TRIPLE, "path": "1"}, ".choice"),
    "facts": ("facts", {"q": QUERY, "about": "abel_hollis"}, ".fact-list li"),
    "supports": ("supports", {"fact": "father(klaus_hollis,cora_hollis)"}, ".supported li"),
    "run": ("run", {}, ".sortable"),
    "mistake": ("ask", {"q": "uncle(X, "}, ".note.bad"),
}
PROGRAM_VIEWS: dict[str, tuple[str, dict[str, str], str]] = {
    "program": ("ask", {"q": "days([umbrella, nothing], W)"}, ".tree"),
    "goals": ("graph", {"q": "days([umbrella, nothing], W)"}, ".goals"),
    "step": ("step", {"q": "days([umbrella, nothing], W)"}, ".choice"),
    "why not": ("whynot", {"q": "next(sun, snow)"}, "h2"),
}

# Each visible text with its colour and what lies under it, as red, green, blue and opacity.
PAIRS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const known = new Map();
  const rgba = colour => {
    if (!known.has(colour)) known.set(colour, painted(colour));
    return known.get(colour);
  };
  const painted = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const pairs = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const seen = {visibilityProperty: true, opacityProperty: true};
    if (!node.data.trim() || !element.checkVisibility(seen)) continue;
    if (element.closest("title, noscript, .unseen, .skip, :disabled")) continue;
    const style = getComputedStyle(element);
    const under = [];
    for (let e = element; e; e = e.parentElement) {
      under.push(rgba(getComputedStyle(e).backgroundColor));
    }
    const shape = element.closest("svg g")?.querySelector("rect");
    if (shape) under.unshift(rgba(getComputedStyle(shape).fill));
    const ink = element.closest("svg") ? style.fill : style.color;
    pairs.push({text: node.data.trim().slice(0, 40), ink: rgba(ink), under,
      size: parseFloat(style.fontSize), bold: Number(style.fontWeight) >= 600});
  }
  return pairs;
}"""


def over(top: list[float], below: list[float]) -> list[float]:
    """One colour painted on another."""
    share = top[3]
    return [*(share * a + (1 - share) * b for a, b in zip(top[:3], below[:3], strict=True)), 1.0]


def luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [c / 255 for c in colour[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(pair: dict[str, Any]) -> float:
    """The contrast ratio of a text, 1 to 21."""
    ground = [255.0, 255.0, 255.0, 1.0]
    for layer in reversed(pair["under"]):
        ground = over(layer, ground)
    low, high = sorted((luminance(ground), luminance(over(pair["ink"], ground))))
    return (high + 0.05) / (low + 0.05)


def too_faint(page: Page) -> list[str]:
    pairs = page.evaluate(PAIRS)
    assert len(pairs) > 10
    faint = []
    for pair in pairs:
        large = pair["size"] >= 24 or (pair["bold"] and pair["size"] >= 18.66)
        ratio = contrast(pair)
        if ratio < (3.0 if large else 4.5):
            faint.append(f"{pair['text']!r}: {ratio:.2f}")
    return faint


# Each thing that takes the mouse or the keyboard, one of every look: by its tag and classes.
TAKERS = """() => {
  const found = new Map();
  for (const named of document.querySelectorAll("[data-taker]")) delete named.dataset.taker;
  const takers = "a, button, summary, input, textarea, [tabindex='0'], .step-line, .tick, " +
    ".answer-open, .goals .goal, .options li";
  for (const element of document.querySelectorAll(takers)) {
    if (element.disabled || element.closest(".unseen")) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    const where = element.closest("nav, header, main > div > *, form, aside")?.className ?? "";
    const current = element.getAttribute("aria-current") ?? "";
    found.set([element.tagName, element.getAttribute("class"), where, current].join(" "), element);
  }
  return [...found].map(([name, element], at) => {
    element.dataset.taker = at;
    return name;
  });
}"""
# The focus ring, or what stands for it, and what lies beside it.
RING = """element => {
  const style = getComputedStyle(element);
  const within = element.closest(".step") ?? element;
  const beside = [];
  const inset = parseFloat(style.outlineOffset) < 0;
  for (let e = inset ? element : element.parentElement; e; e = e.parentElement) {
    beside.push(getComputedStyle(e).backgroundColor);
  }
  return {width: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    colour: style.outlineColor, beside, within: within.tagName};
}"""
RGBA = """colours => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  return colours.map(colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  });
}"""


def ring_contrast(page: Page, ring: dict[str, Any]) -> float:
    """Of the outline that shows the focus, with what lies beside it."""
    ink, *under = page.evaluate(RGBA, [ring["colour"], *ring["beside"]])
    return contrast({"ink": ink, "under": under})


def test_contrast_is_computed_as_the_standard_says() -> None:
    """Black on white is 21; #777 on white, known as just too faint, 4.48."""
    white = [255, 255, 255, 1]
    assert contrast({"ink": [0, 0, 0, 1], "under": [white]}) == pytest.approx(21.0)
    assert contrast({"ink": [0x77] * 3 + [1], "under": [white]}) == pytest.approx(4.48, abs=0.005)


def shown(tab: Tab, view: tuple[str, dict[str, str], str]) -> Page:
    name, parameters, there = view
    page = tab.open(name, **parameters)
    expect(page.locator(f".view-{name or 'ask'}").locator(there).first).to_be_visible()
    expect(page.locator(".waiting")).to_have_count(0)
    return page


# Colours do not depend on the width, nor the width on the colours.
@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 360)])
def test_every_view_is_legible_and_fits(
    new_tab: NewTab, run_url: str, program_url: str, colours: str, width: int
) -> None:
    for url, views in ((run_url, RUN_VIEWS), (program_url, PROGRAM_VIEWS)):
        tab = new_tab(url, width=width, colours=colours)
        for name, view in views.items():
            page = shown(tab, view)
            if page.locator(".step-line").count():
                page.locator(".step-line").first.click()
            assert too_faint(page) == [], name
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            # Nothing is cut off at the right but what can be scrolled to.
            assert page.evaluate(BEYOND) == [], name
            assert page.evaluate(TOWERS) == [], name


# Views in which every kind of control is met; the measures are of colours, which no width changes.
HELD: list[tuple[str, dict[str, str], str]] = [
    RUN_VIEWS["start"], RUN_VIEWS["answer"], RUN_VIEWS["why not"], RUN_VIEWS["step"],
    RUN_VIEWS["facts"], RUN_VIEWS["supports"], RUN_VIEWS["run"],
]  # fmt: skip


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_what_is_under_the_mouse_or_has_the_focus_is_legible(
    new_tab: NewTab, run_url: str, program_url: str, colours: str
) -> None:
    """Text at 4.5 in every state; the ring of the focus at 3 and at least 2 pixels wide."""
    views = ((run_url, HELD), (program_url, [PROGRAM_VIEWS["program"], PROGRAM_VIEWS["goals"]]))
    met = 0
    for url, some in views:
        tab = new_tab(url, colours=colours)
        for view in some:
            page = shown(tab, view)
            if page.locator(".step-line").count():
                page.locator(".step-line").first.click()
            for number, name in enumerate(page.evaluate(TAKERS)):
                taker = page.locator(f"[data-taker='{number}']")
                if not taker.count():
                    continue  # drawn anew since it was named
                met += 1
                if "skip" not in name:  # which is there only while it has the focus
                    taker.hover(force=True)
                    assert too_faint(page) == [], f"{view[0]}: {name} under the mouse"
                # By keyboard, so that the ring is what a keyboard's user sees.
                page.keyboard.press("Shift")
                taker.focus()
                if not taker.evaluate("element => element.matches(':focus-visible')"):
                    continue  # it takes the mouse only
                assert too_faint(page) == [], f"{view[0]}: {name} with the focus"
                ring = taker.evaluate(RING)
                assert ring["width"] >= 2, f"{view[0]}: {name} shows no focus"
                assert ring_contrast(page, ring) >= 3, f"{view[0]}: the ring of {name}"
        tab.check()
    assert met > 60


BEYOND = """() => [...document.querySelectorAll("main *")].filter(element => {
  if (!element.checkVisibility({visibilityProperty: true})) return false;
  if (element.closest(".unseen, svg, .marks")) return false;
  for (let e = element.parentElement; e; e = e.parentElement) {
    if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return false;
  }
  return element.getBoundingClientRect().right > innerWidth + 1;
}).map(element => element.outerHTML.slice(0, 120))"""


# Program text that a narrow place has broken into lines of a few letters each.
TOWERS = """() => [...document.querySelectorAll("main :is(.term, code)")].filter(element => {
  if (!element.checkVisibility({visibilityProperty: true})) return false;
  const range = document.createRange();
  range.selectNodeContents(element);
  const lines = new Set([...range.getClientRects()].map(line => Math.round(line.top / 4))).size;
  return lines > Math.ceil(element.textContent.length / 8);
}).map(element => element.textContent.slice(0, 60))"""


def test_nothing_moves_where_less_motion_is_asked_for(new_tab: NewTab, run_url: str) -> None:
    tab = new_tab(run_url, reduced_motion="reduce")
    page = shown(tab, RUN_VIEWS["answer"])
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].filter(e => "
        "getComputedStyle(e).animationName !== 'none' || "
        "getComputedStyle(e).transitionDuration !== '0s').length"
    )
    assert moving == 0
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_colours_can_be_chosen(new_tab: NewTab, run_url: str) -> None:
    tab = new_tab(run_url, colours="light")
    page = shown(tab, RUN_VIEWS["start"])
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    for _ in ("light", "dark"):
        page.get_by_role("button", name="Colours").click()
    assert page.evaluate(ground) != light
    page.reload()
    assert page.evaluate(ground) != light
