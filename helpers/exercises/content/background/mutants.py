"""What the mistakes of the exercises on copies in the background have in common."""

NEIGHBOURS = (
    "A block copies the tile beside its own as the next one: its next tile begins `stride` cells "
    "further on, and not TILE_WIDTH."
)
SAME_BUFFER = (
    "Two copies go into the same buffer: the next tile belongs in the other one, "
    "tiles[current ^ 1], and `current` changes in every turn."
)
OVERWRITTEN = (
    "A copy goes into a tile that threads of the turn before may still read: a barrier belongs at "
    "the end of each turn."
)
NO_FIRST = (
    "The first tile of a block is read, and nothing was copied into it: its copy must be started "
    "before the loop."
)
NO_NEXT = (
    "The first tile is right, and in the second turn a tile is read into which nothing was copied: "
    "a turn starts the copy of the next tile, into the other buffer."
)
