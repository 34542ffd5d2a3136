"""What bytes are by what they begin with, whatever their name says. Pure."""

from __future__ import annotations

IMAGE_BYTES = 5 * 1024 * 1024
PDF = "application/pdf"
PDF_LOOK = 1_024
"""A PDF may have something else before its mark."""
IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif"}
KINDS = {
    b"\x7fELF": "a program (ELF)",
    b"MZ": "a program (Windows)",
    b"\xcf\xfa\xed\xfe": "a program (Mach-O)",
    b"\xca\xfe\xba\xbe": "a Java class, or a program (Mach-O)",
    b"\0asm": "WebAssembly",
    b"PK\x03\x04": "a ZIP archive, or a document made of one",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"SQLite format 3\0": "an SQLite database",
    b"OggS": "Ogg sound or video",
    b"ID3": "MP3",
    b"fLaC": "FLAC",
    b"BM": "a BMP image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"\0\0\1\0": "an icon",
    b"wOFF": "a font",
    b"wOF2": "a font",
    b"\0\1\0\0\0": "a font",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office document",
    b"!<arch>\n": "a library (ar)",
    b"PAR1": "Parquet",
    b"GGUF": "a model (GGUF)",
}


def media_type(data: bytes) -> str | None:
    """The media type of an image or PDF that models can see."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data[:PDF_LOOK].lstrip().startswith(b"%PDF-"):
        return PDF
    return next((kind for magic, kind in IMAGES.items() if data.startswith(magic)), None)


def kind_of(data: bytes) -> str:
    """What a binary file is, in a few words; nothing where that is not known."""
    if data[257:262] == b"ustar":
        return "a tar archive"
    if data[4:8] == b"ftyp":
        return "MP4 video or a kin of it"
    return next((kind for magic, kind in KINDS.items() if data.startswith(magic)), "")
