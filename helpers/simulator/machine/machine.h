// machine.h -- a warp, the block it belongs to, and the worker that runs blocks
//
// The lanes of a warp that run together are a *path*. If lanes part at a branch, one path becomes
// two. Both end where their ways meet again (the branch's immediate post-dominator); that place is
// a *join*. When the last lane has come there, one path goes on. Paths of one warp run in turns, so
// lanes that wait for each other in a loop make progress, as on GPUs since Volta.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "async.h"
#include "findings.h"
#include "heap.h"
#include "initialisation.h"
#include "int_sums.h"
#include "memory.h"
#include "operations.h"
#include "order.h"
#include "overlaps.h"
#include "poison.h"
#include "races.h"
#include "recorder.h"
#include "shapes.h"
#include "traffic.h"

// The machine always checks bounds. INSTRUCTIONS: it counts how often warps execute each
// instruction (Worker::executed). WITHOUT_PRODUCTS is no observer: matrix instructions multiply by
// 0, so that what comes out shows which products they make. CHANGES: a store races only if it
// changes what is there.
enum Observe : std::uint32_t {
    BARRIERS = 1,
    RACES = 2,
    INITIALISATION = 4,
    TRAFFIC = 8,
    INSTRUCTIONS = 16,
    WITHOUT_PRODUCTS = 32,
    CHANGES = 64
};

// Backward branches of a path until the other paths and warps get their turn.
constexpr std::int64_t fuel_of_a_turn = 1 << 16;

struct Dim {
    std::uint32_t x, y, z;
};
struct SharedArray {
    std::uint64_t offset, bytes;
};

// Whether what a launch writes is undone: at its end (a rehearsal), or when library.py asks for the
// arrays as they were before it.
enum Undo : std::uint32_t { NEVER = 0, AT_END = 1, ON_REQUEST = 2 };

// One launch, as library.py declares it.
struct LaunchRequest {
    Program program;
    const void* parameters;
    std::uint32_t parameter_bytes, local_bytes;    // local_bytes: a lane's stack
    Dim grid, block;
    std::uint32_t
        shared_bytes;    // of the window: static arrays with their red zones, then dynamic memory
    std::uint32_t dynamic_offset, dynamic_shared, shared_count;
    const SharedArray* shared_arrays;
    std::uint32_t observe, sample_every, workers, watched_warp;
    std::uint64_t watched_block;
    std::uint32_t undo, block_count;
    const std::uint64_t* blocks;    // those to run, where block_count is not 0
    std::uint64_t step_limit;    // turns of `fuel_of_a_turn` backward branches; 0: none
    std::uint64_t stack_limit;    // bytes of a thread's stack on a GPU
    std::uint64_t heap_bytes;    // of the device's heap
    std::uint32_t stack_ends;    // a thread with more ends the launch; else it is only reported
    std::uint32_t keeps_heap;    // what the kernel allocates outlives the launch
    const Recording* recording;    // null: nothing is recorded
};

// The content of an array before a launch that may be undone. It restores the array afterwards.
struct Saved {
    explicit Saved(Region& region);
    void keep_all() { add(0, region_->bytes()); }
    // Saves the pages that an access will change.
    void keep(std::uint64_t offset, std::uint64_t size) {
        for (std::uint64_t page = offset / page_bytes; page <= (offset + size - 1) / page_bytes;
             ++page)
            if (!kept_[page]) keep_page(page);
    }
    // Saves the pages that an access of several lanes will change.
    void keep(const std::uint64_t* addresses, std::uint32_t lanes, std::uint32_t size,
              bool contiguous);
    void restore() const;
    void exchange();    // the array's content with that before the launch

private:
    static constexpr std::uint64_t page_bytes = 4096;
    struct Part {
        std::uint64_t offset;
        std::vector<unsigned char> bytes,
            initialised;    // initialised: empty where all of the array was
    };
    Region* region_;
    bool dirty_;
    std::vector<bool> kept_;    // by page
    std::vector<Part> parts_;
    void keep_page(std::uint64_t page);
    void add(std::uint64_t offset, std::uint64_t size);
};

// The slots of a running function, and the place of its local memory in each lane's stack.
struct Frame {
    std::unique_ptr<char[]> memory;    // null: the warp's own
    char* slots = nullptr;
    std::size_t capacity = 0;
    std::int32_t function = 0, call = -1;    // call: the instruction that leads here
    std::uint32_t local = 0;
    std::uint64_t stack = 0;    // bytes of a GPU's stack, with its callers'
    Frame* caller = nullptr;
};

struct Join {
    enum Kind : std::uint8_t { BRANCH_JOIN, RETURN_JOIN } kind = BRANCH_JOIN;
    std::int32_t pc = -1, outer = -1;    // where the lanes meet; the join around this one
    std::uint32_t expected = 0, arrived = 0;
    std::uint32_t passing = 0;    // lanes that come there too, but neither wait nor are waited for
    Frame* frame = nullptr;    // in which the lanes go on there
    bool used = false;
};

struct Path {
    enum State : std::uint8_t { READY, AT_BARRIER, AT_MEETING } state = READY;
    bool met = false;    // the lanes that this one waited for at pc are there
    std::uint32_t lanes = 0;
    std::int32_t pc = 0, join = -1;
    Frame* frame = nullptr;
    std::uint32_t waiting = 0;    // lanes that execute the instruction at which it waits
    std::uint32_t mask = 0;    // of a meeting
    std::uint32_t participants = 0;    // met: all lanes that take part
    std::uint32_t barrier = 0,
                  barrier_count =
                      0;    // AT_BARRIER: its number, threads that it waits for (0: all)
};

// The clocks of a warp's lanes: each ticks where its thread is ordered with others.
class Clocks {
public:
    std::uint32_t operator[](int lane) const { return clocks_[lane]; }
    void set(int lane, std::uint32_t now) { clocks_[lane] = now, all_alike_ = false; }
    void set_all(std::uint32_t now) { clocks_.fill(now), all_alike_ = true; }
    // Whether no lane has ticked without the others.
    bool are_all_alike() const { return all_alike_; }
    // Whether the lanes of a half have passed the same barriers.
    bool are_alike(int h) const {
        if (all_alike_) return true;
        const std::uint32_t* const own = &clocks_[half_warp * h];
        std::uint32_t differ = 0;
        for (int lane = 0; lane < half_warp; ++lane) differ |= own[lane] ^ own[0];
        return differ == 0;
    }

private:
    std::array<std::uint32_t, WARP_SIZE> clocks_{};
    bool all_alike_ = true;
};

struct Warp : Lanes {
    Worker* worker = nullptr;
    std::uint32_t number = 0;
    std::uint32_t live = 0, exist = 0;    // lanes that have not exited; that the block has
    std::uint32_t resting = 0;    // lanes behind a YIELD, while the other paths run
    std::vector<Path> paths;
    std::vector<Join> joins;
    std::vector<std::unique_ptr<Frame>> frames;    // of calls, used again
    Frame bottom;    // the kernel's own
    std::size_t current = 0;    // the path that runs
    std::unique_ptr<char[]> storage;    // of the kernel's slots and the statics
    char* local = nullptr;    // of lane 0; each lane has Worker::launch.local_bytes
    Clocks clock;
    std::array<Fence, WARP_SIZE> fence{};
    std::array<LaneClocks, WARP_SIZE> after{};
    bool ordered = false;    // `after` holds something
    std::array<std::uint64_t, WARP_SIZE> stage{};    // what lanes hand over in a warp operation
    std::array<std::uint64_t, WARP_SIZE> stage_more{};
    std::uint64_t steps = 0;    // instructions of this block, with INSTRUCTIONS
    bool yielding = false;    // a lane seems to wait for another thread
    std::uint32_t yields = 0;    // turns of this block that ended for that reason
    std::int32_t exit_pc = 0;    // where a lane of this warp has exited
    std::uint32_t passing_by = 0;    // lanes that went round a __syncwarp() that waits for them
    std::uint32_t borrowed = 0;    // those that have let it pass from another one, at borrowed_pc
    std::int32_t borrowed_pc = -1;
    std::uint32_t guessing =
        0;    // lanes whose `guess` is a race unless a compare-and-swap of the same address follows
    std::array<std::uint64_t, WARP_SIZE> guessed{};
    std::array<Finding, WARP_SIZE> guess;
    AsyncCopies copies;
    MarkedSlots marks;    // values that nothing has written
    MarkedSlot staged_marks;    // of the values in `stage`, if has_staged_marks
    bool has_staged_marks = false;

    Path& path() { return paths[current]; }
    Frame& frame() { return *paths[current].frame; }
    void enter(Frame& frame) { bases[0] = frame.slots; }
    char* local_of(int lane) const;
    std::uint32_t thread(int lane) const {
        return number * WARP_SIZE + static_cast<std::uint32_t>(lane);
    }
};

// The array that an instruction accessed last, and the pattern of its last addresses.
struct Recent {
    std::uint64_t start = 0, bytes = 0;
    Region* region = nullptr;
    Shapes shapes;
};

// Threads that have arrived at a barrier and gone on (bar.arrive). clocks: what they had done then.
struct Arrivals {
    std::uint32_t threads = 0;
    ThreadClocks clocks;
};

struct Worker {
    LaunchRequest launch{};
    std::uint32_t observe = 0;
    std::vector<Decoded> decoded;    // by instruction
    std::vector<Recent> recent;    // by instruction
    std::vector<std::uint64_t>
        executed;    // by instruction: warps that have executed it; empty without INSTRUCTIONS
    std::deque<Warp> warps;
    std::vector<char> local;    // of all lanes
    std::vector<std::uint8_t> local_written;    // one per byte of `local`
    bool has_gaps = false;    // a function has told of gaps behind its local arrays
    char* shared_window = nullptr;
    std::unique_ptr<char, decltype(&std::free)> shared_memory{nullptr, &std::free};
    std::vector<Region*> shared;    // static arrays, then dynamic memory
    Region* local_region = nullptr;    // only a name in findings
    std::deque<Saved> saved;    // of a launch that may be undone: the arrays that it has written to
    std::uint64_t steps = 0;    // backward branches and calls of the turns that have ended
    Dim block_index{};
    std::uint64_t block_linear = 0;
    std::uint32_t block_number = 0, first_block = 0;    // unique over all launches; of this launch
    std::uint32_t now = 0, turn = 0;    // clocks of the launch: they only go forward
    bool one_of_many = false;    // other workers run blocks of the same launch
    std::uint32_t updates_number = 0;    // one_of_many: stands for all blocks in cells that only
                                         // atomics update
    const std::uint64_t* storing =
        nullptr;    // addresses of the store that the observers look at; null at other times
    std::uint32_t storing_lanes = 0;
    bool aborted = false;
    // polls: volatile loads in short loops; swaps: atomicCAS; locks: atomicCAS or atomicExch
    bool has_fences = false, has_polls = false, has_swaps = false, has_locks = false;
    std::vector<std::int32_t> polled;    // Program::origins of the polls
    bool watches_changes = false;    // stores note whether they change memory
    bool has_changed = false;    // memory, or a clock that the kernel reads
    std::int64_t fuel = 0;
    std::uint64_t ticks = 0;
    Findings findings;
    Finding fatal;
    Traffic traffic;
    std::unique_ptr<Recorder> recorder;    // null: nothing is recorded
    Order order;
    std::unordered_map<const RaceCell*, Earlier>
        plain_before,    // plain writes that atomics have covered
        equal_before;    // the first of several writes of one value, or of atomics of several warps
    std::unordered_map<std::uint32_t, Arrivals> arrivals;    // by bar.arrive, by barrier
    AsyncBarriers async;
    Origins origins;
    Overlaps overlaps;
    IntSums int_sums;
    Finding deepest;    // the call with the largest stack; size: its bytes
    bool marking = false;    // a load is running: its lanes with unwritten bytes go to `unwritten`
    std::uint32_t unwritten = 0;
    std::string printed;

    const Instruction& instruction(std::int32_t pc) const {
        return launch.program.instructions[pc];
    }
    Place place(const Warp& warp, int lane, std::int32_t pc, std::uint32_t access) const;
    // Ends the launch before an access does harm.
    void end_launch(const Finding& finding);
    // If one of several workers sees a fault, one worker runs the launch again and reports it, so
    // that the findings are the same each time.
    void give_up();
    void fault(Warp& warp, int lane, std::int32_t pc, Kind kind, const char* text = "",
               std::int64_t offset = 0, std::uint64_t size = 0);
};

// Calls f(lane) for each of these lanes, the lowest first.
template <class F> void for_lanes(std::uint32_t lanes, F f) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) f(__builtin_ctz(left));
}

// Returns the address at which the block's shared memory starts.
inline std::uint64_t window_of(const Worker& w) {
    return reinterpret_cast<std::uint64_t>(w.shared_window);
}

inline char* Warp::local_of(int lane) const {
    return local + std::size_t(lane) * worker->launch.local_bytes;
}

extern Memory memory;
extern std::atomic<bool>
    doubtful;    // one of several workers has seen a possible fault; one worker must run it again
extern std::atomic<bool> stop_requested;

// Shows the observers one access of the same size by several lanes, at generic addresses
// (access.cpp). Returns false if the launch is over. must_align: a misaligned address ends the
// launch; counted, shift: size and displacement with which the access counts, if they differ from
// its own (Instruction::join and target); count: whether it counts at all.
bool observe_access(Worker&, Warp&, std::int32_t pc, std::uint32_t lanes,
                    const std::uint64_t* addresses, std::uint32_t size, Access access,
                    bool must_align = true, std::uint32_t counted = UINT32_MAX,
                    std::int32_t shift = 0, bool count = true);
// Computes the generic addresses of all 32 lanes: adds the displacement and the base of the state
// space.
void addresses_of(const Worker&, Warp&, const Instruction&, std::uint64_t* result);

bool run_load(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes);
bool run_store(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes);
bool run_atomic(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes,
                int operation);
void settle_guess(Worker&, Warp&, int lane, bool good);

// A warp operation (warp_operations.cpp) has two steps: `stage` keeps what the lanes hand over, and
// `finish` computes the results once all `participants` are there.
struct WarpOperation {
    void (*stage)(Warp&, const Instruction&, std::uint32_t lanes);
    bool (*finish)(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes,
                   std::uint32_t participants);
    int mask_operand;    // -1: none, all lanes of the warp
    bool orders;    // bar.warp.sync
    int first_used = 1;    // the operands from here on are used: a shuffle only hands its value on
};

bool run_builtin(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes,
                 int builtin);
// Reports the lanes of a division of whole numbers whose divisor is zero (divisions.cpp).
void report_zero_divisors(Worker&, Warp&, const Instruction&, std::int32_t pc,
                          std::uint32_t lanes);
