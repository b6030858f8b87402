// poison.h -- values that nothing has written, on their way through registers and memory
//
// A read of unwritten bytes is no fault yet. The copy of a structure reads the gaps between its
// members; a store to a bit field reads the word around it. So a load marks the bits of its result
// that nothing has written, and moves, selections, shifts and operations on bits pass the marks on,
// bit by bit. Sums and products pass them on to all higher bits. A store writes the marks beside
// the memory. A shuffle from a lane that takes no part marks its result, too. There a sum or a
// product is a use in the careful translation only: the optimiser computes it also for lanes that
// throw the result away. Every other use is a fault: in a comparison, an address, a floating-point operation,
// an atomic, an argument of printf. It is reported at the load that read the unwritten bytes. What
// is still marked in global memory at the end of a launch is a fault, too, unless it is a gap of
// the array's structure (Region::layout).
//
// Few warps have marks at a time, so they are kept apart from the registers.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "findings.h"
#include "operations.h"

// The shadow of a byte (Region::initialised, Worker::local_written) that holds marked bits.
constexpr std::uint8_t MARKED = 2;
// The shadow of a byte behind a local array (ptx/gaps.py), which no access may meet.
constexpr std::uint8_t GAP = 3;
// The shadow of a byte of a local variable whose block has ended (ptx/lifetimes.py), less the number
// of the variable.
constexpr std::uint8_t DEAD = 4;

// The marks of one slot of a frame: bits, and for each lane the number of the load (Origins).
struct MarkedSlot {
    std::array<std::uint64_t, WARP_SIZE> bits{};
    std::array<std::uint32_t, WARP_SIZE> origin{};
};
using MarkedSlots = std::unordered_map<const char*, MarkedSlot>;

// is_home: the load read this very byte, as the store to a bit field does. Then a later load is to
// blame for the use.
struct MarkedByte {
    std::uint8_t bits;
    bool is_home;
    std::uint32_t origin;
};

// A number of an origin with this bit: the value is a sum or a product of one with marks.
constexpr std::uint32_t COMPUTED = 1u << 31;

// The loads that read unwritten bytes, and the shuffles that read lanes which take no part, numbered
// from 1 on.
class Origins {
public:
    void clear() { all_.clear(), last_of_.clear(), bytes.clear(); }
    std::uint32_t add(const Finding& finding, std::uint64_t address) {
        if (all_.size() < limit) all_.push_back({finding, address, false, false});
        else if (auto known = last_of_.find(finding.here.pc); known != last_of_.end())
            return known->second;
        else all_.push_back({finding, address, false, false});
        return last_of_[finding.here.pc] = static_cast<std::uint32_t>(all_.size());
    }
    bool is_shuffle(std::uint32_t number) const { return finding(number).kind == INACTIVE_LANE; }
    bool read_byte(std::uint32_t number, std::uint64_t address) const {
        if (number & COMPUTED) return false;
        const Origin& one = all_[number - 1];
        return address - one.address < one.finding.size;
    }
    // Reports a load whose value is used, once.
    void report(std::uint32_t number, Findings& findings) {
        Origin& one = all_[(number & ~COMPUTED) - 1];
        if (!one.reported) add_to(findings, one);
        one.reported = true;
    }
    std::size_t count() const { return all_.size(); }
    // Notes of each load from `first` on whether its bytes are still unwritten. A value may be used
    // before, or only later, in memory of the host.
    template <class IsUnwritten>
    void note_never_set(std::size_t first, Findings& findings, IsUnwritten is_unwritten) {
        for (std::size_t k = first; k < all_.size(); ++k) {
            all_[k].never_set = is_unwritten(all_[k].finding);
            if (all_[k].reported && all_[k].never_set) add_to(findings, all_[k]);
        }
    }
    const Finding& finding(std::uint32_t number) const {
        return all_[(number & ~COMPUTED) - 1].finding;
    }

    std::unordered_map<std::uintptr_t, MarkedByte> bytes;    // those whose shadow is MARKED

private:
    static constexpr std::size_t limit = 1 << 14;    // then one for each instruction
    struct Origin {
        Finding finding;
        std::uint64_t address;
        bool reported, never_set;
    };
    static void add_to(Findings& findings, const Origin& one) {
        Finding finding = one.finding;
        if (!one.reported) findings.add(finding);
        finding.kind = NEVER_SET;
        if (one.never_set) findings.add(finding);
    }
    std::vector<Origin> all_;
    std::unordered_map<std::uint64_t, std::uint32_t> last_of_;
};

struct Worker;
struct Warp;

// Before an operation: passes the marks of its operands on to its result, or reports their use.
void pass_marks(Worker&, Warp&, const Instruction&, std::uint32_t lanes, const PassingRule&);
// Ends the launch by the load that read unwritten bytes, if an instruction's first operand, which
// is an address, comes from it. Returns whether it does.
bool blame_unset_address(Worker&, const Warp&, int lane, std::int32_t pc);
// Before any other instruction: reports the use of its marked operands.
void use_marks(Worker&, Warp&, const Instruction&, std::uint32_t lanes, int first, int count);
// The registers hold other values from now on.
void drop_marks(Warp&, const Instruction&, std::uint32_t lanes, int first, int count);
// A shuffle: keeps the marks of the values that lanes give; and marks what each lane takes from its
// source, -1 for none. Then `nothing` has the origin of the lane's value, which is undefined.
void stage_marks(Warp&, const Instruction&, std::uint32_t lanes, int operand);
void take_staged_marks(Warp&, const Instruction&, std::uint32_t lanes, const int* source,
                       const std::array<std::uint32_t, WARP_SIZE>& nothing);
// After a load: marks the unwritten bits of its results. unwritten: lanes with unwritten bytes.
void mark_loaded(Worker&, Warp&, const Instruction&, std::int32_t pc, std::uint32_t lanes,
                 std::uint32_t unwritten, const std::uint64_t* addresses);
// After the observers have seen a store: writes the marks of the values. Returns false if the
// launch is over.
bool mark_stored(Worker&, Warp&, const Instruction&, std::uint32_t lanes,
                 const std::uint64_t* addresses);
// Reports the use of marked bytes of local memory.
void use_marked_bytes(Worker&, std::uint64_t address, std::size_t size);
// Copies the marks of bytes of local memory.
void copy_marks(Worker&, const char* to, const char* from, std::size_t size);
// A function starts: its slots hold nothing yet.
void forget_marks(Warp&, const char* slots, std::size_t bytes);
// The launch ends: reports what is marked in global memory.
void settle_marks(Worker&);
