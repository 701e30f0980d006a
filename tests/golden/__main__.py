"""`cd tests && python -m golden`: write every golden file again, and say which changed."""

from __future__ import annotations

from golden.files import TESTS, golden_text, goldens

for path, kind, example in goldens():
    text = golden_text(kind, example)
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{'same   ' if text == before else 'changed'}  {path.relative_to(TESTS)}")
