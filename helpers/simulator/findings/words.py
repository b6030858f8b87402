"""The words of findings: one table of what happened, and one of why.

A finding holds rows of these tables and the facts that their words need. The words are made when
somebody reads the finding; whoever has to know what it is about asks for the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto, unique
from string import Formatter
from typing import Any

from helpers.quantities import quantity

Finding = Any  # of findings.py, which imports this module
_UNITS = ("byte", "element", "register", "thread")


class Need(Enum):
    """What a fault lacks, where other faults may lack the same."""

    BARRIER = auto()  # of the block, between the two lines of a race
    WARP_BARRIER = auto()  # of the warp there
    FENCE = auto()
    WAIT = auto()  # for a copy
    LAUNCH = auto()  # another one: blocks have no order
    ATOMIC = auto()  # or elements that the threads do not share
    WIDER_INDEX = auto()
    GUARD = auto()  # or another index


@dataclass(frozen=True)
class Sentence:
    """A row of a table, and the facts that its words need.

    facts: by name, for the names in braces in the row's words. Those that the finding itself has,
    or that are words for them (_WORDED), are left out. told: the words themselves, of a finding
    that was read from a file, which has no facts.
    """

    row: Row
    facts: Mapping[str, Any] = field(default_factory=dict, hash=False)
    told: str | None = None

    def words(self, finding: Finding) -> str:
        """Return what it says of a finding."""
        if self.told is not None:
            return self.told
        return _Writer(finding).vformat(self.row.words, (), self.facts)


class Row(Enum):
    """A row of a table: its words, with facts in braces.

    {nbytes:byte} is a count with its noun, {lines:list} several facts with commas. The words may
    have several lines, which are one. need: what the fault lacks; facts: the names in braces.
    """

    def __init__(self, words: str, need: Need | None = None):
        self.words = " ".join(words.split()) if "\n" in words else words
        self.need = need
        self.facts = {name for _, name, _, _ in Formatter().parse(self.words) if name}

    def __call__(self, **facts: Any) -> Sentence:
        return Sentence(self, facts)


class _Writer(Formatter):
    """Puts facts into words: those of a sentence, and those of its finding."""

    def __init__(self, finding: Finding):
        self._finding = finding

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        if key in kwargs:
            return kwargs[str(key)]
        worded = _WORDED.get(str(key))
        return worded(self._finding) if worded else getattr(self._finding, str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Sentence):
            return value.words(self._finding)
        if format_spec == "list":
            return ", ".join(self.format_field(one, "") for one in value)
        if format_spec in _UNITS:
            return quantity(value, format_spec)
        return super().format_field(value, format_spec)


def _who(finding: Finding) -> str:
    return f"thread {finding.thread} of block {finding.block}"


def _missing(finding: Finding) -> str:
    """Where something is missing that would order the two accesses of a race."""
    if finding.line == finding.other_line:
        return "is missing between the load and the store, or between two turns of the loop"
    return "is missing between the two lines"


_WORDED: Mapping[str, Callable[[Finding], str]] = {"who": _who, "missing": _missing}


@unique
class Event(Row):
    """What happened."""

    WORDED = "{words}"  # where it was found: nothing else asks what it is

    # ---- accesses outside arrays ----
    OUT_OF_BOUNDS = "{who} {verb} {element}, but {extent}"
    PART_OUT_OF_BOUNDS = "{who} {verb} {nbytes:byte} at {element}, but {extent}"
    PAST_END = """{who} {verb} {nbytes:byte} at {element}, the last {past:,} of them past the end:
    {extent}"""
    AXIS_LEFT = "{who} uses index {index}{signed} on {array}, on an axis declared as {declared}"
    ROW_LEFT = "{who} uses {array}[{index}]{signed}, but {extent}"
    LOCAL_LEFT = "{who} {verb} {nbytes:byte} past the end of {what}"
    LOCAL_MEMORY_LEFT = """{who} {verb} {nbytes:byte} past the end of {what}, outside the thread's
    local memory"""
    LOCAL_OF_ANOTHER = """{who} {verb} {nbytes:byte} through a pointer to a local variable of lane
    {lane} of its warp"""
    WILD_POINTER = "{who} {verb} {nbytes:byte} at address {address:#x}, outside every array"
    DEAD_POINTER = """{who} {verb} {nbytes:byte} at address {address:#x}, {array} points to no array
    of the device"""
    NULL_POINTER = """{who} {verb} {nbytes:byte} at address {address:#x}, outside every array:
    {pointer}"""
    FREED_ARRAY = "{who} {verb} {nbytes:byte} of {what} of {size:byte} that has been freed{origin}"
    HEAP_FREED = """{who} {verb} {nbytes:byte} of the {size:byte} that malloc or new gave the
    kernel, after they were freed"""
    HEAP_LEFT = """{who} {verb} {nbytes:byte} at byte {at:,} of the {size:byte} that malloc or new
    gave the kernel"""
    HEAP_LEAK = """{who} does not free the {nbytes:byte} that malloc or new gave it here, and
    nothing points to them when the kernel ends"""
    NO_DYNAMIC_SHARED = "{who} {verb} {what}dynamic shared memory, of which the launch gives none"
    READ_ONLY = "{who} writes {element} in constant memory"
    CONSTANT_MEMORY = "{who} {verb} constant memory"
    MISALIGNED = "{who} {verb} {nbytes:byte} {at} is not {nbytes}-byte aligned"
    INDEX_OVERFLOW = "{who} computes {number} in 32 bits, where it wraps to {wrapped:,}"
    INT_SUM = """{who} adds to {element}, an int, and the numbers added there add up to {total:,}:
    32 bits cannot hold it"""
    DEAD_LOCAL = """{who} {verb} {nbytes:byte} of a local variable, through a pointer, after the
    block that declares it has ended"""
    NAMED_DEAD_LOCAL = """{who} {verb} {nbytes:byte} of {array}, a local variable of line
    {declared}, through a pointer, after the block that declares {array} has ended"""

    RETURNED_LOCAL = "the address of a local variable leaves its function"

    # ---- values that nothing has set ----
    UNSET = "{who} {verb} {what}, which nothing has written"
    UNSET_PART = "{who} {verb} {what}, of which nothing has written the last {missing_bytes}"
    NEVER_SET = "{who} {verb} {element}, which no thread of the block ever sets"
    UNSET_CONSTANT = "{who} {verb} {element}, but nothing has set the __constant__ {array}"
    UNSET_HEAP = """{who} {verb} {nbytes:byte} of the memory that malloc or new gave, which nothing
    has written"""
    NO_RETURN_VALUE = "{who} reaches the end of a function without a return, and uses its value"
    OVERLAP = "{who} {verb} what another array has replaced"
    NAMED_OVERLAP = """{who} {verb} {array}[{index}], in whose place {other} has written
    {written}[{at}] at line {other_line}"""
    UNWRITTEN = """{kernel} leaves {missing_count:,} of the {total:,} {unit} of {name} unwritten:
    the first is {name}[{index}]; fresh device memory holds leftovers, not zeros"""
    NOTHING_WRITTEN = """{kernel} writes nothing to {name}; fresh device memory holds leftovers, not
    zeros"""

    # ---- races ----
    RACE = """{who} {verb} {element}, which {other} {did} at line {other_line}, with no barrier
    between them"""
    RACE_OF_BLOCKS = """{who} {verb} {element}, which {other} {did}{at}, and nothing orders two
    blocks"""
    COPY_UNFINISHED = """{who} {verb} {element}, which the asynchronous copy of line {other_line}
    may not have filled yet""", Need.WAIT
    COPY_STILL_READS = """{who} {verb} {element}, which the asynchronous copy of line {other_line}
    may still be reading""", Need.WAIT
    COPY_OVERTAKES = """{who} {verb} {element}, which the asynchronous copy of line {other_line}
    fills at the same time: no barrier is between the two""", Need.WAIT
    BULK_COPY = "{who} starts an asynchronous bulk copy of {element}, but {event}"
    UNSEEN_STORE = """{who} starts a bulk copy of {element}, which may not see the store of line
    {other_line}"""
    UNSEEN_MBARRIER = """{who} starts a bulk copy that signals the mbarrier {element}, but the copy
    engine may not see the mbarrier.init of line {other_line}"""

    # ---- barriers and warp operations ----
    UNREACHED = "{who} waits at a barrier that thread {other} can no longer reach"
    WRONG_COUNT = """{who} waits at the barrier in line {line} for a number of threads that cannot
    come"""
    TWO_BARRIERS = """{who} waits at the barrier in line {line}, thread {other} at the one in line
    {other_line}"""
    TWO_BARRIERS_OF_LINE = """{who} waits at the barrier in line {line}, thread {other} at another
    one in the same line"""
    TWO_CALLS = """{who} waits at the barrier in line {barrier}, called from line {line}, thread
    {other} at the same one, called from line {other_line}"""
    OTHER_WAY = """{who} waits at a barrier to which thread {other} never came: it has taken another
    way to the end of the kernel"""
    RETURNED = "{who} waits at a barrier that thread {other} can no longer reach: it has returned"
    INACTIVE_LANE = """{who} reads the value of lane {lane}, which takes no part in this shuffle:
    its lane is not in the mask, has returned, or does not exist"""
    MASK_WITHOUT_SELF = """{who} is lane {lane} and calls with mask {mask:#010x}, which does not
    name it"""
    MASK_AT_BARRIER = """{who} waits in line {line} for the lanes of mask {mask:#010x}, thread
    {other} among them, which waits at the __syncthreads() in line {other_line}"""
    TWO_MASKS = """{who} waits in line {line} for the lanes of mask {mask:#010x}, thread {other}
    among them, which waits in line {other_line} with mask {other_mask:#010x}"""
    MASK_OF_OTHER_WAY = """{who} calls with mask {mask:#010x}, which names thread {other}: it has
    reached the kernel's end without this call"""
    WARP_DEADLOCK = """{who} waits in line {line} for the lanes of mask {mask:#010x}, thread {other}
    among them, which waits at {what} in line {other_line}"""

    # ---- what ends a launch ----
    ENDLESS = "{who} was still running when the launch was stopped"
    STOPPED = "{who} was still running when the launch was stopped {how_far}"
    STOPPED_IN_CALL = "{who} still waited in {call}(), {how_far}"
    STOPPED_IN_WAIT = "{who} still waited in this loop for another thread, {how_far}"
    TOO_SLOW = """the launch was stopped at its time limit {how_far}; nothing says that it would not
    end. {who} was running"""
    ENDLESS_CALL = "{who} waits for ever in {call}()"
    ENDLESS_WAIT = """{who} waits for ever in this loop: no thread that runs changes what it waits
    for"""
    ENDLESS_LOOP = "{who} never leaves this loop, which changes nothing at any turn"
    ASSERTION = "{who} found this to be false: {text}"
    TRAP = "{who} ends the launch: it has reached a trap"
    STACK_OVERFLOW = "{who} calls itself deeper than its stack reaches"
    STACK_LIMIT = """{who} calls itself so deep that it needs at least {nbytes:byte} of stack, and
    has {given:,}"""
    WILD_CALL = "{who} calls a function through {target}"
    FAULT = "{who} {text}"
    DIVISION = "{who} divides a whole number by zero"
    PARTIAL_WARP = """{who} executes an instruction of the whole warp (matrices) without all of its
    32 lanes"""

    # ---- launches that do not begin ----
    WRONG_EXTENT = """{what}={shape} for {kernel}: each extent must be at least 1 and at most
    {limits}"""
    MANY_THREADS = "block={block_shape} for {kernel} has {threads:thread}, {most:,} at most"
    OTHER_BLOCK_SIZE = """block={block_shape} for {kernel}, which is compiled for blocks of {exact}
    (__block_size__)"""
    BEYOND_BOUNDS = """block={block_shape} for {kernel} has {threads:thread}, {most:,} at most by
    its __launch_bounds__"""
    MUCH_SHARED = """{kernel} needs {dynamic:byte} of dynamic and {static:,} of static shared
    memory, {most:,} at most"""
    MANY_REGISTERS = """block={block_shape} for {kernel} has {threads:thread} of {needed:register}
    each: a block has {registers:,} registers, enough for {most:thread};
    __launch_bounds__({threads}) makes the compiler use fewer"""

    # ---- arguments ----
    LOST_OUTPUT = """{kernel} writes to {array}, which cuda.In copies to the device and not back:
    the array of the host stays as it was"""


@unique
class Cause(Row):
    """Why it happened, usually, and what mends it."""

    WORDED = "{words}"  # where it was found: nothing else asks what it is

    # ---- accesses outside arrays ----
    GUARD = """Is a guard missing or off by one: at the array's ends, or in the last block, which
    may be partial?""", Need.GUARD
    AS_UNSIGNED = """{index:,} is {meant} as an unsigned number: threadIdx and blockIdx are
    unsigned, so make the index an int first.""", Need.WIDER_INDEX
    AS_INT = """{index:,} is {meant:,} as an int that has overflowed: compute a product such as row
    * width as size_t or long long.""", Need.WIDER_INDEX
    AS_SHORT = """{index:,} is {meant:,} as a short, which counts to 32,767: make the index an
    int.""", Need.WIDER_INDEX
    OVERFLOWN = """An int ends at 2,147,483,647, and a larger number silently becomes another one:
    compute a product such as row * width as size_t or long long.""", Need.WIDER_INDEX
    SUM_OVERFLOWN = """An int ends at 2,147,483,647: let atomicAdd sum in an unsigned long long, or
    in a double if numbers below 0 are among them."""
    TILE_DISTANCE = """The last argument of load_matrix_sync and store_matrix_sync is the distance
    of two rows (of two columns, if they are col_major) in elements: is it that of {array}, and has
    {array} whole tiles?"""
    INDEX_OF_ARRAY = """The index comes from {source}: is each value there an index of {array}, or
    must a guard keep some away?"""
    LITTLE_SHARED = "The launch gives {given:byte} of dynamic shared memory (shared={given})."
    SHARED_IN_BYTES = """shared= counts bytes, not elements: {given:element} of {width:byte} need
    shared={needed}."""
    SHARED_FOR_ALL = """Is that enough for all arrays in it, and does each start where the one
    before ends?"""
    NO_SHARED = """An `extern __shared__` array has the bytes that the launch asks for: give
    shared=<bytes> beside grid and block. Where the size is known before, write it into the kernel,
    as in __shared__ float cells[256]."""
    PITCH = """mem_alloc_pitch gives the distance of two rows in bytes: add y * pitch to a char*,
    and then make it a pointer to the elements."""
    IN_BYTES = """The launch uses {count:,} numbers of {width} bytes in {array}, and its memory has
    {count:,} bytes. {advice}."""
    TOO_SMALL = """Is the array declared too small (a tile needs room for both halos), or the index
    off by one?"""
    LOCAL_TOO_SMALL = "Is the array declared too small, or the index off by one?"
    NEXT_ROW = "The index leaves its axis; inside a larger array it touches the next row unseen."
    NO_ARRAY = """No array is there: is the pointer uninitialised, a host pointer, moved too far, or
    one to an array that has been freed?"""
    FREED = """Free an array after the last kernel that uses it; keep a reference to it in Python
    until then."""
    NULL = """Was the array never allocated, or was 0 given in its place? Pass mem_alloc's result, a
    GPUArray, or cuda.In/Out/InOut."""
    HEAP_FULL = """malloc and new give a null pointer when the device's heap (8 MB) is full: test
    the pointer before its use."""
    MTGP32 = """Only C++ on the host can set up a curandStateMtgp32, by curandMakeMTGP32KernelState,
    and PyCUDA does not have that: take another state, such as curandStatePhilox4_32_10_t, and call
    curand_init in a kernel."""
    HEAP_FREED = """Free memory of the device's heap after its last use: if other threads use it,
    too, all must meet at a barrier first."""
    HEAP_IN_BYTES = """Is the index off by one, or the size given in elements? malloc takes bytes:
    count * sizeof(type)."""
    HEAP_LEAK = """What malloc and new give stays taken after the kernel, until the device's heap (8
    MB) is full: free or delete it, or keep its address in an array for a later kernel."""
    ONE_ADDRESS = """All extern __shared__ arrays start at the same address, the first byte of the
    launch's dynamic shared memory. Declare only {first}, let the other one begin after it, such as
    {element}* {second} = ({element}*)&{first}[elements of {first}], and give the bytes of both
    (shared=)."""
    LOCAL_IS_PRIVATE = """A local variable belongs to one thread: hand values over in shared memory,
    or by a shuffle."""
    ENDED_BLOCK = """A variable ends with its block {{ }}, and its memory may hold other values
    then: declare {it} before the block, or copy the value."""
    ENDED_FUNCTION = """A variable ends with its function, and its memory is used for others:
    declare it in the caller, and hand in its address."""
    ALIGNMENT = """A {what} of {nbytes:byte} must start at a multiple of its size; a GPU ends the
    launch here."""
    ALIGNED_SHARED = """In the dynamic shared memory, put the arrays with the widest elements first,
    or round the start of each up to a multiple of its elements."""
    ALIGNED_ROWS = """Each address of ldmatrix must be a multiple of 16 bytes: give the rows of the
    tile a multiple of 8 halves."""
    CONSTANT_OF_HOST = """Constant memory is written by the host, with memcpy_htod to the symbol's
    address."""

    # ---- values that nothing has set ----
    SHARED_LEFTOVERS = """Shared memory holds leftovers, not zeros: was a part (a halo?) left out
    when it was filled?"""
    LOCAL_LEFTOVERS = "A local variable holds leftovers until it is set: give it a value first."
    VARIABLE_LEFTOVERS = """A variable holds leftovers until it is set: give it a value where it is
    declared."""
    HEAP_LEFTOVERS = """malloc and new give leftovers, not zeros: set each element before its first
    use."""
    UPDATED_LEFTOVERS = """Fresh device memory holds leftovers, not zeros: give it a value to start
    from (gpuarray.zeros, memset_d8, cuda.InOut in place of cuda.Out)."""
    EMPTY_ARRAY = """Fresh device memory holds leftovers, not zeros: was all of it filled before the
    launch (memcpy_htod, memset_d8 ...), or are two arguments exchanged?"""
    UNFILLED_ARRAY = """Fresh device memory holds leftovers, not zeros: was all of it filled before
    the launch (memcpy_htod, memset_d8 ...), or is a part left out?"""
    OTHER_TYPE = """Has the host filled it with values of the kernel's type? A structure needs the
    compiler's gaps: np.dtype([...], align=True)."""
    BETWEEN_ROWS = """{array} has rows of {width:byte} that begin {pitch:byte} apart
    (mem_alloc_pitch), and nothing is between them: step from row to row by the pitch, not by the
    width."""
    UNSET_CONSTANT = """Copy its values before the launch:
    memcpy_htod(module.get_global("{array}")[0], values)."""
    SET_LATER = """Another thread sets it, but perhaps later: a __syncthreads() is missing before
    the line."""
    NO_RETURN = """Every way through a function that has a value must end with a return: which case
    is left out?"""
    CALLER_GETS_LEFTOVERS = """Its caller gets leftovers: every way through the function needs a
    return."""
    UNCOVERED = """Does the grid cover the output, ragged tail and ends included, or does a guard
    keep a thread from its store?"""
    NO_STORE = "Is the store missing, or in a branch that no thread takes?"

    # ---- races ----
    NO_BARRIER = "On a GPU either may come first: a __syncthreads() {missing}.", Need.BARRIER
    NO_BARRIER_FOR_BLOCKS = """On a GPU either may come first: a __syncthreads() {missing}. It waits
    for one block alone: what several blocks share needs a second launch, or another array for the
    results.""", Need.BARRIER
    NO_BARRIER_OF_ONE_WARP = """Both threads are of one warp, whose lanes need not run in step: a
    __syncwarp() or a __syncthreads() {missing}.""", Need.WARP_BARRIER
    NO_BARRIER_OF_WARP = """Both threads are of one warp, whose lanes need not run in step: a
    __syncwarp() {missing}, or a __syncthreads() if other warps use these
    bytes.""", Need.WARP_BARRIER
    STEPS = """On a GPU either may come first, and one __syncthreads() is not enough. Let all
    threads load, meet at a __syncthreads(), store, and meet again, at each step.""", Need.BARRIER
    STEPS_OF_WARP = """Both threads are of one warp, whose lanes need not run in step, and one
    __syncwarp() is not enough. Let all lanes load, call __syncwarp(), store, and call it again, at
    each step.""", Need.WARP_BARRIER
    NO_WAIT_FOUND = """No single __syncthreads() was found that fixes this, before line {line} or a
    line near it: the race stays, or threads miss the barrier. Keep out the threads that have
    nothing to do here; or let all threads load, meet, and then store; or store to another
    array.""", Need.BARRIER
    WAITED_FOR = """Line {wait} waits in a loop for a flag, so a barrier cannot help: it would wait
    for the loop. Store the value first, then call __threadfence_block(), and set the flag, which is
    volatile, last."""
    PLAIN_WAIT = """The loop of line {wait} waits for another {whom} by {what}, which is not
    volatile: the compiler may load it once and keep it, so that the loop never ends. Declare a
    volatile pointer, or read it by an atomic function, and put a {fence} between a value and the
    flag that announces it."""
    ONE_MEMORY = """{read} and {written} are the same memory in this launch, so that a thread reads
    what another one has stored, early or late. Give {written} a separate array."""
    OVERLAPPING_PARTS = """{first} and {second} lie in the block's dynamic shared memory and have
    bytes in common: each must start where the one before ends, in bytes of its own type, and the
    launch must give bytes for all of them (shared=)."""
    UPDATED = """Several threads update {element}: each loads it, computes and stores it, and an
    update between another thread's load and store is lost. A barrier cannot help: use {atomic}, or
    {instead}.""", Need.ATOMIC
    LOST_UPDATE = """Several threads update {element}: each loads it, computes and stores it, and an
    update between another thread's load and store is lost. Neither a barrier nor {atomic} helps
    here, as was tried: {instead}.""", Need.ATOMIC
    LAST_ONE_DECIDES = """Several threads store to {element} at the same time, and a barrier cannot
    help: whichever comes last decides what is left, with atomicExch(), too. Give each thread its
    own element, or let a condition choose one thread.""", Need.ATOMIC
    PARTLY_ATOMIC = """Several threads access {element} at the same time, and a barrier cannot help:
    some of them use an atomic function there and some do not. Take the value that the atomic
    function returns, or access the element by atomic functions alone.""", Need.ATOMIC
    ATOMIC_OF_BLOCK = """An atomic function that ends in _block is one step for the threads of its
    block alone: between blocks it must be the function without _block."""
    ANY_ORDER = """Blocks run in any order, and __syncthreads() waits for one block alone: let each
    block write its own part, or make it two launches.""", Need.LAUNCH
    ANNOUNCED_EARLY = """Line {signal} tells other blocks that the value is there, and line
    {other_line} stores it only then. Store it first, then call __threadfence(), and tell the others
    last."""
    NO_FENCE = """Another block may see {where} before the store of line {other_line}: a
    __threadfence() is missing between the two.""", Need.FENCE
    PLAIN_SIGNAL = """Line {signal} tells other blocks by a plain store that the value is there, and
    they may see it before the store of line {other_line}. Store and read it by atomic functions,
    with a __threadfence() before the store.""", Need.FENCE
    FENCE_OF_BLOCK = """The __threadfence_block() in line {fence} orders memory only for the threads
    of its block: between blocks it must be a __threadfence()."""
    FENCE_OF_BLOCK_AT_LOCK = """The __threadfence_block() in line {fence}, after the lock of
    {where}, orders memory only for the threads of its block: between blocks it must be a
    __threadfence()."""
    UNFENCED_LOCK = """A thread takes a lock in {where} with no fence after it, so that it may see
    what was there before. Call {fence} after the lock is taken, and again before it is given
    back."""
    UNAWAITED_COPY = """Wait for the copy first (__pipeline_wait_prior, cp.async.wait_group,
    consumer_wait() or the barrier's wait()), then let the block's threads meet at
    __syncthreads()."""
    OVERTAKING_COPY = """If the line needs what was there before, let all threads meet at a
    __syncthreads() before the copy begins, at the end of the loop. If it needs what the copy
    brings, wait for the copy (__pipeline_wait_prior, consumer_wait() ...), and then meet."""
    UNAWAITED_BULK_COPY = """A __syncthreads() does not wait for a bulk copy: every thread that
    reads what it brings must wait for its mbarrier (mbarrier.try_wait, or the barrier's wait())."""
    BULK_COPY_OUT = """A bulk copy out of shared memory still reads after the instruction: the
    thread that started it must close its group (cp.async.bulk.commit_group) and wait
    (cp.async.bulk.wait_group.read 0) before anyone writes there, and before the block ends."""
    UNFENCED_STORE = """A bulk copy reads past the threads' caches: fence.proxy.async must come
    after the stores and before the barrier."""
    UNFENCED_MBARRIER = """A bulk copy reads past the threads' caches. The thread that makes an
    mbarrier must show it to the copy engine: fence.proxy.async, or fence.mbarrier_init, after the
    mbarrier.init and before the barrier or the copy."""

    # ---- barriers and warp operations ----
    BARRIER_IN_BRANCH = """All threads of a block must meet at the same __syncthreads(): take it out
    of the branch."""
    WHOLE_WARPS = """The number of threads that a barrier asks for must be a multiple of 32 that do
    come to it."""
    CALLS_IN_BRANCHES = """All threads of a block must reach one __syncthreads() together: call
    the function outside the branches."""
    UNORDERED_OTHERS = """The barrier is in a branch that only some threads take, so it does not
    order the others: take it out of the branch."""
    EARLY_RETURN = """A thread that has left does not hold the others up, but its share of the
    tile is not loaded: guard the store instead."""
    LANE_LEFT_OUT = """What comes from there is undefined. Is the last warp partial, or a lane left
    out of the mask that others read from? Let all lanes take part, with a neutral value where there
    is no data."""
    OWN_LANE = "A lane that makes the call must be in the mask."
    ONE_CALL = """All lanes that a mask names must make the same call with the same mask: take it
    out of the branch, or make the mask with __ballot_sync before it."""
    LANES_KEPT_AWAY = """A mask must name the lanes that make the call: does a branch, or a return
    before it, keep some of them away?"""
    DEADLOCK = """They wait for each other for ever: all lanes of a warp must reach the same
    barrier."""

    # ---- what ends a launch ----
    ENDLESS = "Does this loop end for every thread?"
    ENDLESS_OR_LONG = """Does this loop end for every thread? If it does and only takes long, give a
    larger time_limit (--time-limit in a shell, HALO_TIME_LIMIT in the environment of a program with
    PyCUDA) or a smaller size."""
    LITTLE_TIME = """The simulator needs longer for all blocks: give time_limit={needed}
    (--time-limit in a shell, HALO_TIME_LIMIT={needed} in the environment of a program with PyCUDA),
    a smaller size, or sample_every to a profile."""
    NO_STEP = "Is the step missing that ends it, or a break?"
    LOADED_ONCE = """The compiler has loaded {what} once, before the loop, because nothing says that
    another thread may change it. Declare it volatile, or read it by an atomic function, and put a
    __threadfence_block() (between blocks a __threadfence()) between a value and the flag that
    announces it."""
    LATER_BLOCKS = """Blocks run one after another here, and a GPU, too, begins a block only when
    there is room: a wait for {which} not begun may last for ever. Let a block wait for earlier ones
    only, or use two kernels."""
    NO_WRITER = "Does a thread write the value that ends this loop, and does this one read it?"
    PIPELINE_STAGES = """A stage of a cuda::pipeline is full when all its producers have called
    producer_commit(), and free when all its consumers have called consumer_release(): does a
    branch, or a return, keep a thread away from one?"""
    BARRIER_COUNT = """A phase of a cuda::barrier ends when as many threads have arrived as
    init(&barrier, n) says: compare n with the threads that call arrive() or arrive_and_wait(). A
    thread that leaves early calls arrive_and_drop()."""
    WAITS_ON_GPU = "A GPU waits for ever."
    MBARRIER_COUNTS = """The phase of an mbarrier ends when all arrivals and all announced bytes
    have come: compare the count in mbarrier.init with the threads that arrive, and the bytes of
    expect_tx with those that the copies bring."""
    ASSERTION = """The launch ends here, as on a GPU: what the kernel takes for granted does not
    hold for this thread."""
    TRAP = """Either it calls __trap(), or the compiler has seen that this code is undefined in
    C++: a function that ends without its `return`, a store through a null pointer or into a
    constant."""
    DEEP_RECURSION = """Does the recursion end for every thread? A GPU's stack is small: write deep
    recursions as loops."""
    LITTLE_STACK = """A GPU gives each thread a stack of 1,024 bytes unless the program asks for
    more, and an access past its end is an illegal memory access. Give more before the launch:
    pycuda.driver.Context.set_limit(pycuda.driver.limit.STACK_SIZE, {enough}), or write the
    recursion as a loop."""
    WILD_FUNCTION = """Is the function pointer (or the object with the virtual function)
    uninitialised, read past the end of a table, or was it made on the host?"""
    LEFT_OPEN = """CUDA does not define what happens then: a GPU may continue with wrong values,
    stop or hang. Here the launch ends."""
    DIVISION = """A GPU continues with a meaningless value: guard the division, or make sure that
    the divisor is set."""
    PARTIAL_WARP = """The 32 lanes of a warp hold a matrix together, and all of them must make the
    call: is it in a branch, or the block ({threads:thread} here) not made of whole warps?"""
    MBARRIER_LEFT = """The threads must wait for each copy before the block ends: is a
    consumer_wait(), or a wait() at the barrier, missing?"""
    WRONG_FREE = """Free each address once, and the very address that malloc or new gave: is the
    pointer moved, or does another thread free it, too?"""

    # ---- launches that do not begin, and their arguments ----
    REFUSED = """A GPU refuses the launch before the first thread runs, and the output array keeps
    its old values."""
    GIVEN_BY_IN = "Give cuda.Out for {array}, or cuda.InOut if the kernel reads it, too."

    # ---- what else a cause explains ----
    SAME_LINE = "The same holds for line {lines:list}."
    SAME_LINES = "The same holds for lines {lines:list}."
    SAME_ARRAYS = "The same holds for {arrays:list}."
    SAME_RACES = "The same holds for {races:list}{more}."
    HARMFUL = "It is an error here: {what}."
    PARTED = """Threads that find different values take different paths, so not all of them reach
    the barrier in line {barrier}."""


@unique
class Phrase(Row):
    """Parts of sentences."""

    NONE = ""
    # what an array holds
    AXES = "{name} is {element} {name}{extents}"
    VARIABLE = "{name} is one {element}"
    ONE_ELEMENT = "{name} has only {name}[0]"
    ELEMENTS = "{name} has {count:element} ({name}[0] to {name}[{last}])"
    # what was accessed
    AN_ARRAY = "an array"
    NAMED_ARRAY = "{array}, an array"
    LOCAL_ARRAY = "a local array"
    NAMED_LOCAL_ARRAY = "the local array {array}"
    NAMED = "{array}, "
    NULL_POINTER = "a null pointer"
    NAMED_NULL_POINTER = "{array} is a null pointer"
    BYTES_OF = "bytes {first} to {last} of {element}"
    AT = "at {element}, which"
    FROM_BYTE = "from byte {shift} of {element} on, which"
    AT_LOCAL = "of {what} at an address that"
    ALLOCATED = " (allocated at {file}:{line})"
    SIGNED = " ({signed} as an unsigned number)"
    NUMBER = "the number {index:,}"
    INDEX = "the index {index:,}"
    INDEX_OF = "the index {index:,} of {array}"
    # who and where
    OF_OTHER_BLOCK = "a thread of another block"
    ANOTHER_THREAD = "another thread"
    THREAD = "thread {thread}"
    THREAD_OF_BLOCK = "thread {thread} of block {block}"
    AT_LINE = " at line {other_line}"
    OWN_ELEMENT = "give each thread its own element"
    OWN_ELEMENT_OF_BLOCKS = """give each thread its own element (both have the same number in
    their blocks: is blockIdx in the index?)"""
    BLOCK_THAT = "the block that has"
    BLOCKS_THAT = "one of the {count:,} blocks that have"
    # what follows
    RACE_OF_LINE = "line {low} ({array})"
    RACE_OF_LINES = "lines {low} and {high} ({array})"
    MORE = " and {count} more"
    THEY_RACE = "lines {low} and {high} race for it"
    IT_RACES = "line {low} races with itself for it"
    IT_READS = "line {line} reads what nothing has written"


# How the program's own calls say the cause IN_BYTES.
BYTES_ADVICE = "mem_alloc takes bytes: give it the array's nbytes, not its size"
