// recorder.h -- writes down what the threads of a launch do, and changes it where it is told to
//
// A launch is recorded if LaunchRequest::recording is not null. One worker runs it then. The record
// is a list of words of 64 bits. Each executed instruction has, in the order of execution:
//
//   its instruction (bits 0 to 31) and lanes (32 to 63)
//   its warp (bits 0 to 15), an EventFlag (16 to 31) and its block (32 to 63)
//   with HAS_ADDRESSES: one address for each lane, the lowest first
//   with IS_DECIDED: the lanes that do it, of those that come there
//   with HAS_VALUES: for each of its results, one value for each lane (two words for 128 bits)
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

struct Instruction;
struct Warp;
struct Worker;

// A result of an instruction: its slot, and the bytes of a lane's value (0: a predicate).
struct RecordedSlot {
    std::int32_t operand;
    std::uint32_t bytes;
};

enum EventFlag : std::uint32_t {
    HAS_ADDRESSES = 1,
    HAS_VALUES = 2,
    FINISHES = 4,    // a warp operation at which the lanes have waited for others
    IS_DECIDED = 8,    // a branch or an end under a guard
};

// A value of a register of the thread.
struct Condition {
    std::int32_t operand;
    std::uint32_t bytes;
    std::uint64_t value;
};

enum ChangeKind : std::uint32_t {
    TURN = 0,    // the guard of the instruction is turned round
    REPLACE,    // its result `element` gets `value`
    REDIRECT,    // it accesses the address `value`
    OTHER_SIDE_FIRST,    // a branch: the lanes that jump run before the others
};

enum AddressBase : std::uint32_t { ABSOLUTE = 0, OF_SHARED, OF_LOCAL };

// What is done otherwise than the program says, at one instruction.
struct Change {
    std::int32_t pc;
    std::uint32_t kind;
    std::int64_t block, thread;    // -1: any
    std::int64_t nth;    // the thread's nth time at the instruction, from 0; -1: each time
    std::uint32_t first_condition, condition_count;    // all of them must hold
    std::uint64_t value;
    std::uint32_t element, from;    // from: AddressBase, of `value`
};

// What is recorded, and what is changed. first: by instruction, its first entry of `slots`;
// has_addresses: by instruction; watched: by block; limit: words; until, until_bytes: the records
// behind the last store to these bytes may be dropped; ahead_warp runs before the other warps of its
// block, and its lanes `ahead_lanes` before its other lanes (0: all together).
struct Recording {
    const std::uint32_t* first;
    const RecordedSlot* slots;
    const std::uint8_t* has_addresses;
    const std::uint8_t* watched;
    const Change* changes;
    const Condition* conditions;
    std::uint64_t limit, until, until_bytes;
    std::uint32_t change_count, ahead_warp, ahead_lanes, reserved;
};

class Recorder {
public:
    void begin_launch(const Recording& recording, std::uint32_t instructions);
    // Before an instruction. active: the lanes of the path; lanes: those whose guard is true.
    // Returns the lanes that are to execute it.
    std::uint32_t begin(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc,
                        std::uint32_t active, std::uint32_t lanes);
    // After an instruction that has executed.
    void end(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes);
    // Results of lanes that have waited at an instruction.
    void add(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
             std::uint32_t flags);
    bool other_side_first(Worker& w, Warp& warp, std::int32_t pc, std::uint32_t lanes) const;

    const std::vector<std::uint64_t>& words();
    bool cut() const { return cut_; }
    std::uint32_t ahead_warp() const { return recording_.ahead_warp; }
    std::uint32_t ahead_lanes() const { return recording_.ahead_lanes; }

private:
    Recording recording_{};
    std::vector<std::uint64_t> oldest_, older_, newer_, kept_;    // in this order
    std::vector<std::uint8_t> is_changed_;    // by instruction
    std::unordered_map<std::uint64_t, std::int64_t> times_;    // of a thread at a change
    std::size_t header_ = 0;
    bool open_ = false, cut_ = false, joined_ = false;
    // Words of older_ and newer_ up to the last store to `until`; 0: it is not there. kept_ has the
    // words before one that is no longer there.
    std::size_t mark_in_older_ = 0, mark_in_newer_ = 0;
    bool redirected_ = false;
    std::vector<std::uint64_t> bases_;    // of redirected lanes, to be put back

    void open(Worker& w, Warp& warp, const Instruction& i, std::int32_t pc, std::uint32_t lanes,
              std::uint32_t flags);
    void drop_oldest();
    void append_results(const Warp& warp, std::int32_t pc, std::uint32_t lanes);
    void note_store(const Warp& warp, const std::uint64_t* addresses, std::uint32_t lanes,
                    std::uint32_t size);
    bool holds(const Worker& w, const Warp& warp, const Change& change, int lane) const;
    std::uint32_t changed_lanes(const Worker& w, Warp& warp, const Change& change,
                                std::uint32_t index, std::uint32_t lanes);
};
