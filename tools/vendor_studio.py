"""Fetch what the studio's pages load from the npm registry, and write it beside its manifest.

    python tools/vendor_studio.py          # the versions below, checked against the manifest
    python tools/vendor_studio.py --write  # the same, and write files and manifest anew

Only `npm pack` is needed, and only to vendor anew: whoever installs Mentis gets the files from it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "src" / "mentis" / "surfaces" / "studio" / "static" / "vendor"
MANIFEST = VENDOR / "manifest.json"
# Package, version, licence, and each file of it with the name that it has here.
PACKAGES = (
    ("htmx.org", "4.0.0", "0BSD", {"dist/htmx.min.js": "htmx.min.js", "LICENSE": "htmx.LICENSE"}),
)


def fetch(package: str, version: str, names: dict[str, str]) -> dict[str, bytes]:
    """The files of a package, by the names that they have here."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["npm", "pack", f"{package}@{version}", "--silent", "--pack-destination", folder]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        archive = next(Path(folder).glob("*.tgz"))
        with tarfile.open(archive) as packed:
            found: dict[str, bytes] = {}
            for inside, name in names.items():
                member = packed.extractfile(f"package/{inside}")
                if member is None:
                    raise SystemExit(f"{package} {version} has no file {inside}")
                found[name] = member.read()
            return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write files and manifest anew")
    write: bool = parser.parse_args().write
    files: dict[str, bytes] = {}
    listed: list[dict[str, object]] = []
    for package, version, licence, names in PACKAGES:
        found = fetch(package, version, names)
        files |= found
        prints = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(found.items())}
        listed.append(
            {"package": package, "version": version, "licence": licence, "sha256": prints}
        )
    text = json.dumps(listed, indent=2) + "\n"
    if write:
        for name, data in files.items():
            (VENDOR / name).write_bytes(data)
        MANIFEST.write_text(text, encoding="utf-8")
        return 0
    same = MANIFEST.read_text(encoding="utf-8") == text
    wrong = [name for name, data in files.items() if (VENDOR / name).read_bytes() != data]
    for name in wrong:
        print(f"{name} is not the file of the registry")
    if not same:
        print("the manifest does not say what the registry has: run with --write")
    return 0 if same and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
