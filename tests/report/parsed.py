"""HTML taken apart, to see that it holds what it should and nothing else."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "wbr"}
MARKS = {"p", "mark", "bdi", "span", "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "ol", "li"}
MARKS |= {"blockquote", "details", "summary", "svg", "path", "rect", "text", "tspan", "title"}
"""The elements of highlights."""
MARK_ATTRIBUTES = {"class", "title", "dir", "tabindex", "role", "aria-label", "scope"}
MARK_ATTRIBUTES |= {"width", "height", "viewbox", "x", "y", "rx", "d", "stroke-width", "textlength", "lengthadjust"}


class Element:
    """An element with its attributes, the elements inside it and all the text inside it."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.inside: list[Element] = []
        self.text = ""

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, tag: str = "", style: str = "") -> list[Element]:
        """The elements inside, at any depth, in order."""
        found = []
        for element in self.inside:
            if tag in ("", element.tag) and (not style or style in element.classes):
                found.append(element)
            found += element.all(tag, style)
        return found

    def one(self, tag: str = "", style: str = "") -> Element:
        (found,) = self.all(tag, style)
        return found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> where <{self.open[-1].tag}> is open"
        self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data!r}")


def parsed(html: str) -> Element:
    """The elements of some HTML; whatever is not closed, closed twice or commented out is an error."""
    parser = _Parser()
    parser.feed(str(html))
    parser.close()
    assert len(parser.open) == 1, f"<{parser.open[-1].tag}> is not closed"
    return parser.root


def check_marks(root: Element) -> None:
    """Only the elements and attributes that highlights may have."""
    for element in root.all():
        assert element.tag in MARKS, element.tag
        assert set(element.attributes) <= MARK_ATTRIBUTES, element.attributes
