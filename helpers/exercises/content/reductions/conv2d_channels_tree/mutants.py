"""The mistakes of conv2d_channels_tree."""

from helpers.exercises.kit import mutant

CHANNELS = "int c = z; inside && c < C; c += CHANNEL_THREADS"
STORE = "    partial[z][mine] = sum;\n"
FIRST_HALF = "int half = CHANNEL_THREADS / 2"
ADD = "if (z < half) partial[z][mine] += partial[z + half][mine];"
WAIT = f"{ADD}\n        __syncthreads();"
TREE = (
    f"{STORE}    __syncthreads();\n    for ({FIRST_HALF}; half > 0; half /= 2) {{\n"
    f"        {WAIT}\n    }}\n"
)

NOT_STORED = (
    "partial[z][mine] is read before its thread has stored a sum: all threads store, those without "
    "an output or a channel, too (their sum is 0)."
)
NO_WAIT = (
    "A step reads what other warps have stored in the step before: a __syncthreads() must stand "
    "before the tree, and after each step."
)
OF_WEIGHT = "A weight is ((m * C + c) * K + p) * K + q, with c below C, and p and q below K."

MUTANTS = (
    mutant(
        "Every sum is 0: add up the thread's channels. That is gap 1.",
        (CHANNELS, "int c = C; inside && c < C; ++c"),
    ),
    mutant(
        "Each output comes out as many times as it has threads: every thread adds all channels. "
        "Begin at c = z and go on in steps of CHANNEL_THREADS.",
        (CHANNELS, "int c = 0; inside && c < C; ++c"),
    ),
    mutant(
        "Channels from CHANNEL_THREADS on are missing: a thread has several, in steps of "
        "CHANNEL_THREADS.",
        (CHANNELS, "int c = z; inside && c < C; c += C"),
    ),
    mutant("Only the channels of the threads with z = 0 are there.", (ADD, "")),
    mutant("The last step of the tree, half = 1, is missing.", ("half > 0", "half > 1")),
    mutant(
        "The first step of the tree, half = CHANNEL_THREADS / 2, is missing.",
        (FIRST_HALF, "int half = CHANNEL_THREADS / 4"),
    ),
    mutant(
        "Only the sums of the threads with z = 0 and z = 1 are joined: half begins at "
        "CHANNEL_THREADS / 2.",
        (FIRST_HALF, "int half = 1"),
    ),
    mutant(
        "Only the sums of four threads are joined: an output has CHANNEL_THREADS threads, and that "
        "is not always 4.",
        (FIRST_HALF, "int half = 2"),
    ),
    mutant(
        "Only the sum of the thread with the largest z is left: a step adds to partial[z][mine], "
        "and does not replace it.",
        ("+= partial[z + half]", "= partial[z + half]"),
    ),
    mutant(
        "Sums count several times: a step adds partial[z + half][mine] to partial[z][mine], and "
        "nothing else.",
        ("+= partial[z + half]", "+= partial[z][mine] + partial[z + half]"),
    ),
    mutant(
        "All threads of an output add the same channels, those of z = 0: begin at c = z.",
        (CHANNELS, "int c = 0; inside && c < C; c += CHANNEL_THREADS"),
    ),
    mutant(
        "Channels count several times: a thread adds all from channel z on. Go on in steps of "
        "CHANNEL_THREADS.",
        (CHANNELS, "int c = z; inside && c < C; ++c"),
    ),
    mutant(
        "The last channels are missing: C / CHANNEL_THREADS is rounded down. Let a thread add "
        "channels z, z + CHANNEL_THREADS, ... below C.",
        (
            CHANNELS,
            "int c = z * (C / CHANNEL_THREADS); inside && c < (z + 1) * (C / CHANNEL_THREADS); ++c",
        ),
    ),
    mutant(NOT_STORED, (TREE, "")),
    mutant(NOT_STORED, (STORE, "")),
    mutant(NOT_STORED, (STORE, f"    if (inside)\n{STORE}")),
    mutant(NOT_STORED, (STORE, f"    if (z < C)\n{STORE}")),
    mutant(
        "Several threads store into one place: each has its own, partial[z][mine].",
        ("partial[z][mine] = sum", "partial[0][mine] = sum"),
    ),
    mutant(NO_WAIT, (f"{STORE}    __syncthreads();\n", STORE)),
    mutant(NO_WAIT, (WAIT, ADD)),
    mutant(
        "A barrier is for all threads of the block: take it out of the branch.",
        (WAIT, f"{ADD}\n        if (z < half) __syncthreads();"),
    ),
    mutant(
        "A thread whose z is not below C has no channel, and must not read cells: let the loop "
        "over c end at C.",
        (CHANNELS, "int c = z; inside && c == z; ++c"),
    ),
    mutant(
        "A thread that is not `inside` has no output, and must not read cells.",
        ("inside && c < C", "c < C"),
    ),
    mutant(
        "The rows of a thread's cells are h + p, and their columns w + q.",
        ("+= image[(c * H + h + p) * W + w", "+= image[(c * H + w + p) * W + h"),
    ),
    mutant(OF_WEIGHT, ("((m * C + c) * K + p) * K + q];", "((m * K + c) * K + p) * K + q];")),
    mutant(
        "z + half is the number of a thread in the first step already: only threads with z < half "
        "add. (partial is [z][output of the block].)",
        ("if (z < half) ", ""),
    ),
)
