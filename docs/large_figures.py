"""Makes every figure a link to itself when the site is built: on a phone a wide one can then be opened and enlarged."""

import re
from typing import Any

IMAGE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]*>')


def on_page_content(html: str, **_: Any) -> str:
    """Wrap the images of a page (called by mkdocs for every page)."""
    return IMAGE.sub(r'<a href="\1">\g<0></a>', html)
