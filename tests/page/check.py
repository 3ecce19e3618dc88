"""Is the page of a certificate whole, on screens and on paper?

    check.py CHROMIUM RESULTS PAGE.html...

Each page is opened at two widths. Chromium says where each line of text lies: none leaves the window or
its own table cell, none lies on another, headings are in their order below the verdict, and cells of a
table whose head is not shown have its labels. In the picture
each line has ink and the margins have none. Printed, each word of the page is on a sheet of A4, inside its
margins and on no other word, the verdict on the first. Pictures and PDF stay in RESULTS.
"""

import io
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

from chromium import Chromium
from PIL import Image

SIZES = [(400, 800), (1280, 900)]
A4 = (595.3, 841.9)  # points
PAPER_MARGIN = 18 / 25.4 * 72
SLACK = 1.0  # of a pixel or a point: sizes are fractions

# Lines of text with their places, and what else is measured; in the page.
MEASURE = """(() => {
  const box = r => [r.left + scrollX, r.top + scrollY, r.right + scrollX, r.bottom + scrollY];
  const of = e => box(e.getBoundingClientRect());
  const lines = [], unlabelled = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    if (node.data.trim() === '') continue;
    const column = node.parentElement.closest('thead th');
    if (column !== null && getComputedStyle(column.closest('thead')).display === 'none') {
      for (const row of column.closest('table').tBodies[0].rows) {
        const label = getComputedStyle(row.cells[column.cellIndex], '::before').content;
        if (!label.includes(node.data)) unlabelled.push(node.data);
      }
      continue;
    }
    const holder = node.parentElement.closest('td,th,p,h1,h2');
    const style = getComputedStyle(node.parentElement);
    const range = document.createRange();
    range.selectNodeContents(node);
    const seen = style.visibility === 'visible' && style.opacity === '1';
    const rects = [...range.getClientRects()].filter(r => r.width > 0 && r.height > 0);
    lines.push({text: node.data, holder: holder === null ? null : of(holder), seen,
                size: parseFloat(style.fontSize), boxes: rects.map(box)});
  }
  return {
    lines, unlabelled,
    width: innerWidth,
    scroll: document.scrollingElement.scrollWidth,
    height: document.scrollingElement.scrollHeight,
    body: of(document.body),
    title: document.title,
    verdict: of(document.querySelector('.verdict')),
    headings: [...document.querySelectorAll('h1,h2')].map(h => [h.innerText, of(h)]),
  };
})()"""

HEADINGS = [
    "Certificate of erasure",
    "Who, what, when, how much",
    "How it was deleted",
    "How it was checked",
    "What remains, where, and until when",
    "Legal holds before the deletion",
    "For a technical check",
]
# A second certificate says of the deletion only that it was.
ALWAYS = [HEADINGS[0], HEADINGS[1], HEADINGS[4], HEADINGS[6]]

findings = []


def want(holds, what):
    if not holds:
        findings.append(what)


def is_inside(inner, outer):
    return (
        inner[0] >= outer[0] - SLACK
        and inner[1] >= outer[1] - SLACK
        and inner[2] <= outer[2] + SLACK
        and inner[3] <= outer[3] + SLACK
    )


def is_over(a, b):
    return (
        min(a[2], b[2]) - max(a[0], b[0]) > SLACK and min(a[3], b[3]) - max(a[1], b[1]) > 2 * SLACK
    )


def check_overlaps(name, boxes):
    """boxes: of (text, box)."""
    boxes = sorted(boxes, key=lambda one: one[1][1])
    for i, (text, box) in enumerate(boxes):
        for other, below in boxes[i + 1 :]:
            if below[1] > box[3]:
                break
            want(not is_over(box, below), f"{name}: \"{text}\" and \"{other}\" overlap")


def check_headings(name, found):
    want(found == [h for h in HEADINGS if h in found], f"{name}: headings are {found}")
    for heading in ALWAYS:
        want(heading in found, f"{name}: no heading \"{heading}\"")


def check_places(name, m, height):
    want(m["scroll"] <= m["width"], f"{name}: {m['scroll']} px wide in a window of {m['width']} px")
    check_headings(name, [text for text, _ in m["headings"]])
    tops = [box[1] for _, box in m["headings"]]
    want(tops == sorted(tops), f"{name}: headings are not below each other")
    want(m["verdict"][1] > tops[0] and m["verdict"][3] <= tops[1], f"{name}: no verdict on top")
    want(m["verdict"][1] < height / 2, f"{name}: the verdict begins at {m['verdict'][1]} px")
    want(not m["unlabelled"], f"{name}: cells without their labels: {set(m['unlabelled'])}")
    boxes = []
    for line in m["lines"]:
        text = line["text"].strip()[:60]
        want(line["boxes"] and line["seen"], f"{name}: \"{text}\" is not shown")
        want(line["holder"] is not None, f"{name}: \"{text}\" is in no paragraph, heading or table")
        want(line["size"] >= 12, f"{name}: \"{text}\" has {line['size']} px")
        for box in line["boxes"]:
            want(box[0] >= 0 and box[2] <= m["width"], f"{name}: \"{text}\" leaves the window")
            if line["holder"]:
                want(is_inside(box, line["holder"]), f"{name}: \"{text}\" leaves its place")
            boxes.append((text, box))
    check_overlaps(name, boxes)


def has_ink(picture, box):
    part = picture.crop([int(box[0]), int(box[1]), int(box[2]) + 1, int(box[3]) + 1])
    return part.size[0] > 0 and part.size[1] > 0 and part.getextrema()[0] < 128


def check_picture(name, m, picture):
    want(picture.size == (m["width"], m["height"]), f"{name}: the picture is {picture.size}")
    for line in m["lines"]:
        for box in line["boxes"]:
            want(has_ink(picture, box), f"{name}: \"{line['text'].strip()[:60]}\" has no ink")
    left, right = int(m["body"][0]), int(m["body"][2]) + 1
    for begin, end in (0, left), (right, m["width"]):
        if begin < end:
            margin = picture.crop([begin, 0, end, m["height"]])
            want(margin.getextrema()[0] == 255, f"{name}: something is in the margin")


def check_screen(browser, page, results):
    for width, height in SIZES:
        name = f"{page.stem}, {width} px"
        browser.open(page, width, height)
        m = browser.evaluate(MEASURE)
        check_places(name, m, height)
        png = browser.picture(width, m["height"])
        (results / f"{page.stem}-{width}.png").write_bytes(png)
        check_picture(name, m, Image.open(io.BytesIO(png)).convert("L"))
    return m


def letters_of(text):
    """Without what only divides it: lines are broken anywhere."""
    return re.sub(r"[\s\u00a0\u00ad\u200b-\u200f\u2066-\u2069]+", "", text)


def check_paper(browser, page, results, m):
    name = f"{page.stem}, printed"
    pdf = results / f"{page.stem}.pdf"
    pdf.write_bytes(browser.pdf())
    layout = subprocess.run(
        ["pdftotext", "-bbox", pdf, "-"], check=True, capture_output=True, text=True
    )
    document = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", layout.stdout))
    printed = []
    for number, sheet in enumerate(document.iter("page"), 1):
        size = float(sheet.get("width")), float(sheet.get("height"))
        want(abs(size[0] - A4[0]) < 1 and abs(size[1] - A4[1]) < 1, f"{name}: a sheet of {size}")
        inner = [PAPER_MARGIN, PAPER_MARGIN, size[0] - PAPER_MARGIN, size[1] - PAPER_MARGIN]
        words = [
            (w.text, [float(w.get(side)) for side in ("xMin", "yMin", "xMax", "yMax")])
            for w in sheet.iter("word")
        ]
        want(words, f"{name}: sheet {number} is blank")
        for text, box in words:
            want(is_inside(box, inner), f"{name}: \"{text}\" is in a margin of sheet {number}")
        check_overlaps(f"{name}, sheet {number}", words)
        printed.append(letters_of("".join(text for text, _ in words)))
    first = printed[0] if printed else ""
    for text in HEADINGS[0], "The signature is valid.":
        want(letters_of(text) in first, f"{name}: \"{text}\" is not on the first sheet")
    # Long cells go on beside the next ones, so letters are counted, not read in their order.
    shown = letters_of("".join(line["text"] for line in m["lines"]))
    lacks = {c for c in set(shown) if "".join(printed).count(c) < shown.count(c)}
    want(not lacks, f"{name}: letters are missing: {''.join(sorted(lacks))}")
    subprocess.run(["pdftoppm", "-r", "60", "-png", pdf, results / f"{page.stem}-sheet"], check=True)
    return len(printed)


def main():
    results = pathlib.Path(sys.argv[2])
    with Chromium(sys.argv[1]) as browser:
        for path in map(pathlib.Path, sys.argv[3:]):
            m = check_screen(browser, path, results)
            sheets = check_paper(browser, path, results, m)
            print(f"page: {path.stem}: {len(m['lines'])} texts, {sheets} sheets")
    for finding in findings:
        print(f"page: {finding}", file=sys.stderr)
    sys.exit(1 if findings else 0)


main()
