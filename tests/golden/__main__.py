"""Write the golden rows anew, from the tests that hold them: `make golden`.

python -m tests.golden                 # all tables, whole
python -m tests.golden -k transpose    # options of pytest: only the rows that these tests see
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests import golden

# The modules whose tests call golden.require.
MODULES = (
    "tests/helpers/test_plotting.py",
    "tests/helpers/test_record_outputs.py",
    "tests/helpers/test_right_answers.py",
    "tests/helpers/test_stories.py",
    "tests/helpers/test_wrong_answers.py",
    "tests/simulator/test_corpus.py",
    "tests/simulator/test_counters.py",
    "tests/kernels/test_launches.py",
    "tests/kernels/test_mutants.py",
    "tests/kernels/test_implicit.py",
    "tests/kernels/test_implicit_wgmma.py",
    "tests/kernels/test_gemm.py",
    "tests/helpers/test_fastest_layer.py",
    "tests/helpers/test_small_images.py",
    "tests/helpers/test_lenet.py",
    "tests/helpers/test_fft.py",
    "tests/helpers/test_tensor_product.py",
    "tests/helpers/test_background_copies.py",
    "tests/helpers/test_waiting.py",
    *(f"tests/labs/test_filled_labs_{share}.py" for share in (1, 2, 3, 4)),
)
WORKERS = 3  # as many as `make test` has


def main(options: list[str]) -> int:
    """Run the tests, and store what they saw; return their exit status.

    Without options the tables are replaced whole, unless a test failed; with options rows are
    replaced one by one.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS), *MODULES]
        select = options or [
            "-k",
            "golden or answer or fault or blamed or mutant or rejected or counted or solutions"
            " or shows",
        ]
        status = subprocess.run(
            [*command, *select],
            env={**os.environ, golden.WRITE_TO: folder, "LAB_DEVICE": "simulator"},
            check=False,
        ).returncode
        found: dict[str, dict[str, golden.Row]] = defaultdict(dict)
        for shard in Path(folder).glob("*.jsonl"):
            pairs = map(json.loads, shard.read_text(encoding="utf-8").splitlines())
            found[shard.name.partition(".")[0]].update(pairs)
    for table, rows in sorted(found.items()):
        before = golden.rows(table)
        kept = before if options or status else {}
        changed = sum(before.get(key) != row for key, row in rows.items())
        golden.write(table, {**kept, **rows})
        print(
            f"{table}: {len(rows)} rows seen, {changed} changed or new, "
            f"{len({**kept, **rows})} stored"
        )
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
