"""What a wheel has that the package has not: a manual page, completion files, the samples, a README with addresses."""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:|#)([^)]+)\)")  # to a file of the checkout


class SharedFiles(BuildHookInterface[Any]):
    """Writes the files below `share` to a folder that is removed after the build, and has the wheel take them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the files, unless the package is installed in place, where they would not follow it."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        sys.path[:0] = [self.root]
        try:
            from attncli.io.paths import SAMPLES, sample_files  # noqa: PLC0415 - of the tree that is built
            from docs.generation import completion_files, manual_page  # noqa: PLC0415

            files = {path: completion_files.generate(shell) for shell, path in completion_files.PATHS.items()}
            files["man/man1/attn.1"] = manual_page.generate()
            for name in sample_files():
                build_data["force_include"][str(Path(self.root, SAMPLES, name))] = f"attncli/{SAMPLES}/{name}"
        finally:
            sys.path.remove(self.root)
        for path, text in files.items():
            file = Path(self._folder.name, path)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(file)] = f"share/{path}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            self._folder.cleanup()


class ReadmeOfIndex(MetadataHookInterface):
    """Has package indexes show the README with links to the files of the repository, which they don't have."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README: how a release is installed, and the address of each file that it links to or shows."""
        sys.path[:0] = [self.root]
        try:
            from docs.generation.markdown import as_released  # noqa: PLC0415 - of the tree that is built
        finally:
            sys.path.remove(self.root)
        source = metadata["urls"]["Source"]
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(lambda link: self._with_address(source, *link.groups()), as_released(text))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

    @staticmethod
    def _with_address(source: str, mark: str, text: str, path: str) -> str:
        """A link as Markdown: a picture is shown as it is, a document in the repository's pages."""
        return f"{mark}[{text}]({source}/{'raw' if mark else 'blob'}/main/{path})"
