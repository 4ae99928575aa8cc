"""Every relative link of the documentation leads somewhere, headings included."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packages/*/README.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Headings as the anchors that Markdown renderers give them."""
    plain = (re.sub(r"[^\w\- ]", "", text.lower()) for text in HEADING.findall(page.read_text("utf-8")))
    return {text.strip().replace(" ", "-") for text in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(page.read_text("utf-8")):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target) if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    assert broken == []
