"""PDF documents made for tests."""

import zlib


def small_pdf(pages: int = 1, *, compressed: bool = False) -> bytes:
    """Returns a PDF with empty pages. With `compressed` the objects of the pages are in a compressed stream, as most
    programs write them since PDF 1.5."""
    kids = " ".join(f"{3 + number} 0 R" for number in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        *["<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] >>"] * pages,
    ]
    if not compressed:
        body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in enumerate(objects, start=1))
        return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n%%EOF\n".encode()
    texts = "\n".join(objects).encode()
    packed = zlib.compress(texts)
    head = (
        f"9 0 obj\n<< /Type /ObjStm /N {len(objects)} /First 0 /Filter /FlateDecode /Length {len(packed)} >>\nstream\n"
    )
    return b"%PDF-1.5\n" + head.encode() + packed + b"\nendstream\nendobj\n%%EOF\n"
