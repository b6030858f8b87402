// findings.h -- the findings of the observers; library.py declares the same layout
#pragma once
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

enum Kind : std::uint32_t {
    OUT_OF_BOUNDS = 0,
    MISALIGNED = 1,
    RACE = 2,
    UNINITIALISED = 3,
    BARRIER_DIVERGENCE = 4,
    BARRIER_EXITED = 5,
    RUNAWAY = 6,
    READ_ONLY = 7,
    ROW_OVERRUN = 8,
    INACTIVE_LANE = 9,
    MASK_WITHOUT_SELF = 10,
    MASK_MISMATCH = 11,
    MASK_EXITED = 12,
    WARP_DEADLOCK = 13,
    ASSERTION = 14,
    BARRIER_CALLERS = 15,
    FAULT = 16,
    LOCAL_OF_ANOTHER = 17,
    STACK_OVERFLOW = 18,
    WILD_CALL = 19,
    ASYNC_READ = 20,
    TRAP = 21,
    NULL_POINTER = 22,
    NO_DYNAMIC_SHARED = 23,
    LOCAL_OVERRUN = 24,
    ASYNC_PROXY = 25,
    DEVICE_HEAP = 26,
    HEAP_LEAK = 27,
    OVERLAP = 28,
    STACK_LIMIT = 29,
    DEAD_LOCAL = 30,
    INDEX_OVERFLOW = 31,
    NEVER_SET = 32,
    INT_SUM = 33,
    DIVISION = 34,
    PARTIAL_WARP = 35,
    WRONG_FREE = 36,
    LOST_MBARRIER = 37,
    ENDLESS_MBARRIER = 38
};
enum Access : std::uint32_t { LOAD = 0, STORE = 1, ATOMIC = 2 };

struct Place {    // one thread at one instruction
    static constexpr std::uint32_t unknown = UINT32_MAX;    // as thread or block[0]: some other one
    std::uint64_t pc = 0;    // index of the instruction
    std::uint32_t thread = 0, access = LOAD;
    std::uint32_t block[3] = {0, 0, 0};
    std::uint32_t reason = 0;    // 1 + an instruction that explains a RACE, 0: none. here: the
                                 // atomic that takes a lock with no fence after it; other: the
                                 // __threadfence_block() there
    std::uint64_t caller = 0;    // 1 + the call that leads here, 0 in the kernel itself
};
struct Finding {
    std::uint32_t kind = 0, region = 0;    // region 0: no array is near
    std::int64_t offset = 0;    // bytes from the array's start; an index (ROW_OVERRUN,
                                // INDEX_OVERFLOW); a lane
                                // (warp operations); a number of a variable (DEAD_LOCAL); an address where no array is near
    std::uint64_t size = 0;    // bytes accessed; a mask (warp operations)
    std::uint64_t count = 1;    // how often the fault happened
    Place here, other;
    char text[128] = {0};    // the expression (ASSERTION), the event (FAULT, WRONG_FREE, WILD_CALL,
                             // LOST_MBARRIER, ENDLESS_MBARRIER), or that
                             // both threads are of one warp whenever it happens (RACE)

    bool is_in_one_warp() const {
        return here.thread >> 5 == other.thread >> 5 &&
               std::memcmp(here.block, other.block, sizeof here.block) == 0;
    }
};

// One finding per kind and instruction: the first one in program order, with a count.
class Findings {
public:
    static constexpr std::size_t limit = 256;
    void add(const Finding& finding) {
        std::uint64_t key = finding.here.pc << 8 ^ finding.kind;
        auto found = seen_.find(key);
        if (found != seen_.end()) {
            Finding& first = list_[found->second];
            first.count += 1;
            if (finding.kind == RACE && !finding.is_in_one_warp()) first.text[0] = 0;
        } else if (list_.size() < limit) {
            seen_.emplace(key, list_.size());
            list_.push_back(finding);
            if (finding.kind == RACE && finding.is_in_one_warp())
                std::strcpy(list_.back().text, "one warp");
        }
    }
    void clear() { list_.clear(), seen_.clear(); }
    const std::vector<Finding>& list() const { return list_; }

private:
    std::vector<Finding> list_;
    std::unordered_map<std::uint64_t, std::size_t> seen_;
};
