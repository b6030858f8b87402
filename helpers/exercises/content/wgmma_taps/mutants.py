"""The mistakes of wgmma_taps."""

from helpers.exercises.kit import mutant

JOINED = "start | half << 16 | eight << 32;"
A = "descriptor(a_first, 64 * 16, 8 * 16);"
B = "descriptor(b_first + 16 * tap, CELLS * 16, 8 * 16);"

NOT_DIVIDED = (
    "A descriptor leads to another place of shared memory, or out of it. Is each of its numbers "
    "divided by 16?"
)

MUTANTS = (
    mutant(
        "All descriptors are 0, so that A and B are the same cells: gap 1 puts three numbers into "
        "a descriptor.",
        (JOINED, "0;"),
    ),  # the stub
    mutant(
        "All rows of A are its first eight, and all columns of B, and channels 8 to 15 are "
        "channels 0 to 7: gap 2 gives both distances of each matrix.",
        (A, "descriptor(a_first, 0, 0);"),
        (B, "descriptor(b_first, 0, 0);"),
    ),
    mutant(
        "All taps meet the same cells: column w of B is cell w + tap, so B begins tap Octets "
        "further on.",
        ("b_first + 16 * tap", "b_first"),
    ),
    mutant(
        "The taps are in the opposite order: tap 0 meets cell w, the last one cell w + TAPS - 1.",
        ("16 * tap,", "16 * (TAPS - 1 - tap),"),
    ),
    mutant(
        "All columns of B are its first eight: next_eight of b leads 8 Octets further on.",
        (B, B.replace("8 * 16)", "0)")),
    ),
    mutant(
        "All rows of A are its first eight: next_eight of a leads 8 Octets further on.",
        (A, A.replace("8 * 16)", "0)")),
    ),
    mutant(
        "All rows of A are its first eight, and all columns of B: next_eight is lost. A shift by "
        "32 needs 64 bits, those of a Descriptor.",
        (JOINED, "start | half << 16;"),
    ),
    mutant(
        "Channels 8 to 15 of B are its channels 0 to 7: other_half of b leads to the other row of "
        "cells, CELLS Octets further on.",
        (B, B.replace("CELLS * 16", "0")),
    ),
    mutant(
        "Channels 8 to 15 of A are its channels 0 to 7: other_half of a leads 64 Octets further "
        "on.",
        (A, A.replace("64 * 16", "0")),
    ),
    mutant(
        "Channels 8 to 15 of A are channels 0 to 7 of its next eight rows: other_half of a leads "
        "64 Octets further on.",
        (A, A.replace("64 * 16", "8 * 16")),
    ),
    mutant(
        "Channels 8 to 15 of B are wrong: its other half begins CELLS Octets further on, and not "
        "64 as in A.",
        (B, B.replace("CELLS", "64")),
    ),
    mutant(
        "Channels 8 to 15 of B are wrong: a row of x has CELLS Octets, TAPS - 1 more than there "
        "are outputs.",
        (B, B.replace("CELLS", "OUTPUTS")),
    ),
    mutant(
        "Only the last tap counts: each product after the first one must add to the sums before "
        "it.",
        ("b, tap > 0)", "b, 0)"),
    ),
    mutant(
        "Both distances are exchanged: other_half, in bits 16 to 29, leads to channels 8 to 15, "
        "next_eight, in bits 32 to 45, to row 8 or column 8.",
        (JOINED, "start | eight << 16 | half << 32;"),
    ),
    mutant(NOT_DIVIDED, ("address / 16", "address")),
    mutant(NOT_DIVIDED, ("next_eight / 16", "next_eight")),
)
