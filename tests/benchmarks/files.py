"""How long it takes from files to a file, and how much memory, beside the same job as a PyTorch script."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from computing import arrays
from pairs import Row, against, compare, of_memory, peak, run

SCRIPT = """
import sys
import numpy, torch
folder = sys.argv[1]
query, key, value = (torch.from_numpy(numpy.load(f"{folder}/{name}.npy"))[None, None] for name in "qkv")
output = torch.nn.functional.scaled_dot_product_attention(query, key, value)
numpy.save(f"{folder}/peer.npy", output[0, 0].numpy())
"""


def rows() -> Iterator[Row]:
    """`attn compute --query … -o o.npy`: time, and peak memory."""
    attn = str(Path(sys.executable).with_name("attn"))
    for count in (1024, 2048, 4096, 8192, 16384, 32768, 65536):
        with TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "peer.py").write_text(SCRIPT)
            for letter, array in zip("qkv", arrays(count, "float32"), strict=True):
                np.save(folder / f"{letter}.npy", array)
            files = [word for role in ("query", "key", "value") for word in (f"--{role}", f"{folder}/{role[0]}.npy")]
            ours = [attn, "compute", *files, "--select", "output", "-o", f"{folder}/o.npy"]
            theirs = [sys.executable, f"{folder}/peer.py", str(folder)]
            title = f"files to file, n = {count} / a PyTorch script"
            if count < 65536:
                yield compare(title, lambda ours=ours: run(ours), lambda theirs=theirs: run(theirs), 5, "< 1")
                yield of_memory(f"  peak memory in MB, n = {count}", ours, theirs, "< 1")
                continue
            own, moved = peak([sys.executable, "-c", "import numpy, typer"]), 4 * 64 * count * 4 / 2**20
            title = "  peak above the interpreter's own / inputs and output, n = 65536"
            yield against(title, [peak(ours) - own], moved, "≤ 3")
