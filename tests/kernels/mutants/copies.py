"""Wrong kernels that copy through shared memory or keep loads in flight."""

from tests.kernels.mutants.mutant import Mutant, without, wrong

MUTANTS: dict[str, tuple[Mutant, ...]] = {
    "copy_async": (
        # "all groups but the newest one" is this tile only if a newer group exists; behind the
        # last tile none is committed.
        wrong(
            "copy_async_last_group",
            "race",
            (
                "n);\n        }",
                'n);\n            asm volatile("cp.async.commit_group;");\n        }',
            ),
            ('        asm volatile("cp.async.commit_group;");\n\n', "\n"),
        ),
        # Cells that other threads copy may still be on their way.
        wrong("copy_async_no_barrier", "race", without("and those of the other threads")),
        # The copy into this buffer starts while slow threads still compute on it.
        wrong("copy_async_no_second_barrier", "race", without("the next copy goes into this")),
        # cp.async only starts a copy; a barrier waits for threads, not for their copies.
        wrong(
            "copy_async_no_wait",
            "race",
            without('asm volatile("cp.async.wait_group 1;" ::: "memory");'),
        ),
    ),
    "copy_bulk": (
        # Cells are announced, not bytes: a phase may end while most of the tile is on its way.
        wrong("copy_bulk_few_bytes", "fault", ("(bytes) :", "(bytes / 4) :")),
        # The last tile is shorter than the others, but a whole tile is announced: the phase never
        # ends.
        wrong("copy_bulk_many_bytes", "fault", ("(bytes) :", "(16 * VECTORS) :")),
        # Thread 0 makes the mbarriers; nothing keeps the others from using them before.
        wrong("copy_bulk_no_init_barrier", "race", without("nobody may wait at an mbarrier that")),
        # Thread 0 starts the copy into this buffer while slow threads still compute on it.
        wrong("copy_bulk_no_second_barrier", "race", without("the next copy goes into this")),
        # Nobody waits at the mbarrier.
        wrong("copy_bulk_no_wait", "race", without("wait(&arrived[current], turn / 2 % 2);")),
        # Each buffer has an mbarrier of its own, which is used every second turn: its parity
        # changes every second turn, too.
        wrong("copy_bulk_parity", "race", ("turn / 2 % 2", "turn % 2")),
    ),
    "copy_in_flight": (
        # The last round loads cells that the array does not have.
        wrong("flight_unguarded_load", "out-of-bounds", ("i < n ? in[i] : 0.0f", "in[i]")),
        # The last round stores cells that the array does not have.
        wrong(
            "flight_unguarded_store",
            "out-of-bounds",
            (
                "if (i < n) {\n                out[i] = value[k];\n            }",
                "out[i] = value[k];",
            ),
        ),
    ),
    "copy_plain": (
        # An output reads cells that other threads copy, and nothing orders the two.
        wrong("copy_plain_no_barrier", "race", without("outputs read cells that other threads")),
        # A fast thread copies cells of the next tile while a slow one still reads this one.
        wrong("copy_plain_no_second_barrier", "race", without("nobody may overwrite the tile")),
    ),
}
