"""The mistakes of taps_split."""

from helpers.exercises.kit import mutant

SHUFFLES = (
    "for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, sum, half);"
)

NOT_IN_X = (
    "That cell is not in x. How many taps has a channel, and how many has a row of the filter?"
)

MUTANTS = (
    mutant(
        "Only lane 0's own taps are in the sum: what the other lanes have is not added.",
        (SHUFFLES, ""),
    ),
    mutant(
        "The taps of lane 0 count 32 times, and no others: do all lanes begin with the same tap, "
        "or does lane 0 add its own sum to itself? (__shfl_up_sync() reads the lane `half` before, "
        "and lane 0 has no lane before it.)",
        ("__shfl_down_sync", "__shfl_up_sync"),
    ),
    mutant(
        "Half of the lanes are missing: the first shuffle reaches 16 lanes far.",
        ("half = 16", "half = 8"),
    ),
    mutant(
        "Every second lane is missing: the last shuffle must read the next lane.",
        ("half > 0", "half > 1"),
    ),
    mutant(
        "Each output is twice what it should be: __shfl_down_sync(.., 32) gives a lane its own "
        "sum. The first step reaches 16 lanes far.",
        ("half = 16", "half = 32"),
    ),
    mutant(
        "Only the taps of lane 31 are in the sum: add what a shuffle brings, and do not put it in "
        "the place of `sum`.",
        ("sum += __shfl", "sum = __shfl"),
    ),
    mutant(
        "The whole sum is in lane 0: after __shfl_down_sync() lane 31 has its own sum alone, many "
        "times.",
        ("lane == 0", "lane == 31"),
    ),
    mutant(
        "Two lanes add the same tap: a warp has 32 lanes, so a lane's next tap is 32 further on.",
        ("t += 32", "t += 16"),
    ),
    mutant(
        "A lane multiplies all its taps by one weight: tap t has weight t of the map.",
        ("filter[m * taps + t]", "filter[m * taps + lane]"),
    ),
    mutant(
        "Outputs are counted in rows of out_w, and not of W: output i is in row i / out_w and "
        "column i % out_w.",
        ("h = i / out_w, w = i % out_w", "h = i / W, w = i % W"),
    ),
    mutant(NOT_IN_X, ("p = t / K % K", "p = t / K")),
    mutant(NOT_IN_X, ("c = t / (K * K)", "c = t / K")),
    mutant(
        "A shuffle needs all lanes of its mask: call it outside of any branch that parts the warp.",
        (SHUFFLES, SHUFFLES.replace("sum +=", "if (lane < half) sum +=")),
    ),
    mutant(
        "Several lanes store the same output, and which comes last is open: let one lane store, "
        "after the sum is whole.",
        ("if (lane == 0) ", ""),
    ),
)
