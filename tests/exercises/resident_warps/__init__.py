"""Answers to resident_warps, right and wrong."""

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("a minimum of four limits"),
    right_python("one block after another", file="right_counting.py"),
)


WRONG = (
    wrong_python("threads rounded down to warps", ("-(-threads // 32)", "max(1, threads // 32)")),
    wrong_python("no limit of warps", ("        64 // warps_of_block,\n", "")),
    wrong_python("kilobytes of 1,000 bytes", ("228 * 1024", "228 * 1000")),
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python(
        "partial warps",
        ("-(-threads // 32)", "threads / 32"),
        ("    return blocks * warps_of_block", "    return int(blocks * threads // 32)"),
    ),
    wrong_python("no limit on blocks", ("        32,\n", "")),
    wrong_python("registers not rounded", ("-(-registers // 8) * 8", "registers")),
    wrong_python(
        "no quarters", ("4 * (16_384 // registers_of_warp)", "65_536 // registers_of_warp")
    ),
    wrong_python(
        "warps that are no whole blocks",
        (
            "    return blocks * warps_of_block",
            "    return min(64, warps_by_registers, 32 * warps_of_block)",
        ),
    ),
    wrong_python(
        "the kilobyte of each block forgotten", ("(shared_bytes + 1024)", "max(shared_bytes, 1)")
    ),
    wrong_python(
        "blocks in place of warps", ("    return blocks * warps_of_block", "    return blocks")
    ),
    wrong_python(
        "the occupancy",
        ("    return blocks * warps_of_block", "    return blocks * warps_of_block / 64"),
    ),
    wrong_python(
        "a block in one quarter",
        ("// registers_of_warp)", "// (registers_of_warp * warps_of_block))"),
        ("warps_by_registers // warps_of_block", "warps_by_registers"),
    ),
    wrong_python(
        "a number with a fraction",
        ("    return blocks * warps_of_block", "    return blocks * threads / 32"),
    ),
    wrong_python(
        "nothing is returned", ("    return blocks * warps_of_block", "    blocks * warps_of_block")
    ),
    wrong_python("threads rounded down", ("-(-threads // 32)", "threads // 32"), status="refused"),
    wrong_python("a function of the labs' own package", file="wrong_import.py", status="refused"),
)
