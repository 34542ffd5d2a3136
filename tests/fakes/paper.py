"""Small PDFs."""


def paper(*pages: str) -> bytes:
    """One page for each text."""
    kids = " ".join(f"{3 + 2 * index} 0 R" for index in range(len(pages)))
    font = "<< /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>"]
    for index, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 50 700 Td ({text}) Tj ET"
        box = "/MediaBox [0 0 600 800]"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Resources {font} /Contents {4 + 2 * index} 0 R >>")
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    said, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(said))
        said += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(said)}\n%%EOF\n"
    return f"{said}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode()
