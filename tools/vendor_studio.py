"""Fetch what the studio's pages load from the npm registry, and write it beside its manifest.

    python tools/vendor_studio.py          # the versions below, checked against the manifest
    python tools/vendor_studio.py --write  # the same, and write files and manifest anew

Only `npm` is needed, and only to vendor anew: whoever installs Mentis gets the files from it. The
editor is many small packages: esbuild, fetched with them, makes one file of what
tools/studio_editor.js names.
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
EDITOR = ROOT / "tools" / "studio_editor.js"
BUNDLER = ("esbuild", "0.28.2")
# What the editor is made of, all of it MIT. The newest tag of `codemirror` is an older program.
BUNDLED = {
    "codemirror": "6.0.2",
    "@codemirror/autocomplete": "6.20.4",
    "@codemirror/commands": "6.11.1",
    "@codemirror/language": "6.13.1",
    "@codemirror/lint": "6.9.7",
    "@codemirror/merge": "6.12.2",
    "@codemirror/search": "6.7.2",
    "@codemirror/state": "6.7.6",
    "@codemirror/streamparser": "6.0.0",
    "@codemirror/view": "6.43.15",
    "@lezer/common": "1.5.5",
    "@lezer/highlight": "1.2.5",
    "@lezer/lr": "1.4.12",
    "@marijn/find-cluster-break": "1.0.4",
    "crelt": "1.0.7",
    "style-mod": "4.1.4",
    "w3c-keyname": "2.2.8",
}


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


def bundle() -> dict[str, bytes]:
    """The editor as one file, and the licences of everything in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = {**BUNDLED, BUNDLER[0]: BUNDLER[1]}
        (folder / "package.json").write_text(json.dumps({"dependencies": wanted}))
        (folder / "entry.js").write_bytes(EDITOR.read_bytes())
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(install, check=True, capture_output=True, cwd=folder)
        modules = folder / "node_modules"
        found = {str(one.parent.relative_to(modules)) for one in _packages(modules)}
        if strangers := [one for one in sorted(found - set(wanted)) if "esbuild" not in one]:
            raise SystemExit(f"not listed in BUNDLED: {', '.join(strangers)}")
        make = [str(modules / ".bin" / "esbuild"), "entry.js", "--bundle", "--format=esm"]
        make += ["--minify", "--legal-comments=none", "--charset=utf8"]
        made = subprocess.run(make, check=True, capture_output=True, cwd=folder).stdout
        texts = (f"{one}\n\n{(modules / one / 'LICENSE').read_text()}" for one in BUNDLED)
        return {"codemirror.min.js": made, "codemirror.LICENSE": "\n\n".join(texts).encode()}


def _packages(modules: Path) -> list[Path]:
    return [*modules.glob("[!.]*/package.json"), *modules.glob("@*/*/package.json")]


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
    editor = bundle()
    files |= editor
    prints = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(editor.items())}
    listed.append({"packages": BUNDLED, "licence": "MIT", "sha256": prints})
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
