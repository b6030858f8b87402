"""The mistakes of conv2d_chunk."""

from helpers.exercises.kit import mutant

START = "first_channel > 0 ? *output : 0.0f"
CHANNELS = "c < channels"
CELL = "(b * C + first_channel + c)"
WEIGHT = "(m * channels + c)"

NOT_FILLED = "Cells of the symbol are read that this launch has not filled. It begins with"
WHOLE_MAPS = (
    "Whole maps are never written: blockIdx.y counts the maps of this launch, and the output map "
    "is first_map + blockIdx.y."
)

MUTANTS = (
    mutant(
        WHOLE_MAPS,  # the stub
        (START, "0.0f"),
        (CHANNELS, "c < C"),
        (CELL, "(b * C + c)"),
        (WEIGHT, "(m * C + c)"),
        ("first_map + m", "m"),
    ),
    mutant(WHOLE_MAPS, ("first_map + m", "m")),
    mutant("Each launch leaves out the first of its channels.", ("int c = 0", "int c = 1")),
    mutant(
        "Each launch leaves out the last of its channels: there are `channels` of them.",
        (CHANNELS, "c < channels - 1"),
    ),
    mutant(
        "The loop goes over all C channels of x. A launch has only `channels` of them.",
        (CHANNELS, "c < C"),
    ),
    mutant(
        "Only the first launch of each map adds something to it. In every launch c counts this "
        "launch's own channels, from 0 to channels - 1.",
        ("int c = 0", "int c = first_channel"),
    ),
    mutant(
        "Each launch overwrites what the one before has made of the same map: add to y, except "
        "where first_channel is 0.",
        (START, "0.0f"),
    ),
    mutant(
        "A launch that begins with channel 1 overwrites what the one before has made: add to y "
        "where first_channel > 0.",
        (START, "first_channel > 1 ? *output : 0.0f"),
    ),
    mutant(
        "All outputs are NaN: a map's first launch (first_channel == 0) must set y. It holds "
        "nothing yet that could be added to.",
        (START, "*output"),
    ),
    mutant(
        "Whether there is something to add to depends on first_channel, not on first_map: a map's "
        "first launch (first_channel == 0) must set y.",
        (START, "first_map > 0 ? *output : 0.0f"),
    ),
    mutant(
        "Each launch reads x from channel 0 on: channel c of the chunk is channel "
        "first_channel + c of x.",
        (CELL, "(b * C + c)"),
    ),
    mutant(
        "Images of x lie C channels apart, however many channels a launch has.",
        (CELL, "(b * channels + first_channel + c)"),
    ),
    mutant(
        "The symbol holds only this launch's channels, `channels` channels a map: tap (m, c) lies "
        "at (m * channels + c) * K * K.",
        (WEIGHT, "(m * C + c)"),
    ),
    mutant(
        f"{NOT_FILLED} map first_map and channel first_channel: it is not the whole filter.",
        (WEIGHT, "((first_map + m) * C + first_channel + c)"),
    ),
    mutant(f"{NOT_FILLED} map first_map.", (WEIGHT, "((first_map + m) * channels + c)")),
    mutant(f"{NOT_FILLED} channel first_channel.", (WEIGHT, "(m * channels + first_channel + c)")),
)
