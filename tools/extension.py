"""`make extension`: the folder that Kit loads, `build/exts/omni.warp_core-<version>`, from the files of the checkout.

It appears whole or not at all, in place of an older one. The native module is the one that is built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from omni.warp_core import __version__
from tools import older_types

ROOT = Path(__file__).resolve().parent.parent
NAME = f"omni.warp_core-{__version__}"
TRACKED = ("omni", "ogn", "config", "data/*.png", "data/scenes", "docs", "README.md", "CHANGELOG.md", "LICENSE")
NATIVE = "omni/warp_core/_native*"


def files() -> list[Path]:
    """Return the files of the extension, relative to the checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *TRACKED]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    native = [path.relative_to(ROOT) for path in ROOT.glob(NATIVE) if path.suffix in (".so", ".pyd")]
    if not native:
        raise SystemExit("the native module is not built; run `make build`")
    return sorted({Path(name) for name in names if (ROOT / name).is_file()} | set(native))


def build(target: Path) -> None:
    """Copy the extension to `target`, replacing one that is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".part-") as part:
        made = Path(part) / target.name
        for file in files():
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, made / file)
        older_types.write(made / "ogn")
        if target.exists():
            target.rename(Path(part) / "old")
        made.rename(target)


def main(arguments: list[str]) -> None:
    """Build into the folder of the first argument, or else below build/exts."""
    target = Path(arguments[0] if arguments else ROOT / "build" / "exts") / NAME
    build(target)
    count = sum(len(names) for _, _, names in os.walk(target))
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    print(f"wrote {os.path.relpath(target)}: {count} files, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
