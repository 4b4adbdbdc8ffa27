"""Small PDFs, written by hand: a page for each text."""

from __future__ import annotations


def pdf(*texts: str) -> bytes:
    """A file with these pages, in a font that every reader has."""
    count = len(texts)
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(count))
    font = f"{3 + 2 * count} 0 R"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>"]
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {count} >>")
    for number, text in enumerate(texts):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        box = f"/MediaBox [0 0 612 792] /Resources << /Font << /F1 {font} >> >>"
        content = f"/Contents {4 + 2 * number} 0 R"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} {content} >>")
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    written, places = b"%PDF-1.4\n", list[int]()
    for number, one in enumerate(objects, start=1):
        places.append(len(written))
        written += f"{number} 0 obj\n{one}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R >>\n"
    return written + f"{end}startxref\n{len(written)}\n%%EOF\n".encode()
