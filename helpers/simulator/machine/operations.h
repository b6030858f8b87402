// operations.h -- the table of operations: each runs one instruction of PTX for the 32 lanes of a
// warp
//
// A row of the table is all that the machine knows of an operation: its name, the function that
// runs it, the types of its operands, and its marks. Each file adds the rows of its own functions
// (add_operation), and encode.py asks the library for names and operands. A name is the
// instruction's own opcode without what stands in Instruction::flags, ::space or the operands:
//
//   add.s32   mul.wide.u16   mad.lo.s64   fma.f32 (of fma.rn.ftz.f32)   setp.lt.f32
//   setp.geu.and.f64   selp.b32   cvt.f32.s64 shl.b32   lop3.b32 (operand 4 is a constant) prmt.b32
//   dp4a.u32.s32   mma.m16n8k16.row.col.f32.f16.f16.f32
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "program.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

constexpr int WARP_SIZE = 32;
constexpr std::uint32_t ALL_LANES = 0xFFFFFFFFu;

// The part of a warp that an operation may access: its slots. The machine's Warp (machine.h) is
// derived from it.
struct Lanes {
    // bases[0] is the frame of the running function, bases[1] the statics less 1 byte, so that an
    // operand's lowest bit picks.
    char* bases[2] = {nullptr, nullptr};
    const std::int32_t* more = nullptr;    // Program::operands
    std::uint32_t carry = 0;               // of add.cc, subc, mad.lo.cc ...: one bit a lane
    bool without_products = false;    // factors of matrices count as 0

    template <class T> T* at(std::int32_t operand) const {
        return reinterpret_cast<T*>(bases[operand & 1] + operand);
    }
    std::uint32_t& predicate(std::int32_t operand) const { return *at<std::uint32_t>(operand); }
    std::int32_t operand(const Instruction& i, int k) const {
        return k < 6 ? i.operand[k] : more[i.more + k - 6];
    }
    template <class T> T* nth(const Instruction& i, int k) const { return at<T>(operand(i, k)); }
};

struct Warp;    // machine.h; derives from Lanes
struct Worker;
struct WarpOperation;

// Computes the results of the lanes that take part (never none), and leaves those of the other
// lanes as they are.
using Operation = void (*)(Lanes&, const Instruction&, std::uint32_t lanes);
// Runs an instruction that may access memory. Returns false if the launch is over
// (Worker::aborted).
using MachineOperation = bool (*)(Worker&, Warp&, const Instruction&, std::int32_t pc,
                                  std::uint32_t lanes);

// What the scheduler does with an operation (run_path in schedule.cpp).
enum Control : std::uint8_t {
    COMPUTE = 0,
    DIVIDE,    // whole numbers: it computes, and a divisor of zero is a finding
    MACHINE,
    ATOMIC_UPDATE,
    BRANCH_TO,
    BRANCH_BY_INDEX,
    CALL,
    RETURN,
    EXIT,
    BARRIER_SYNC,
    BARRIER_ARRIVE,
    BARRIER_REDUCE,
    MEET,
    FENCE,
    TRAP_HERE,
    CLOCK,
    LOCAL_ADDRESS,
    ACTIVE_MASK,
    YIELD,
    NOTHING,
};

// How an operation passes on marks of values that nothing has written (poison.h).
enum class Passing : std::uint8_t {
    USE,    // not at all: it uses its operands
    PRODUCT,    // the same, for an mma, whose results are several registers
    MOVE,
    PACK,
    UNPACK,
    SELECT,
    LOGIC,    // of each bit alone: and, or, xor, not, lop3
    SHIFT_LEFT,
    SHIFT_RIGHT,
    CONVERT,
    INSERT,    // bfi
    EXTRACT,    // bfe
    PERMUTE,    // prmt
    CARRY,    // from a bit to all higher ones: add, sub, mul, mad, neg
    FLOAT,    // a use; but what a shuffle took from no lane goes on to the whole result
};
struct PassingRule {
    Passing how = Passing::USE;
    std::uint8_t to = 0, from = 0;    // bytes of the result and of the operands
    bool is_signed = false;
    std::uint8_t table = 0;    // LOGIC: the truth table, as lop3 has it; 0: operand 4 holds it
};
template <class To, class From = To>
constexpr PassingRule passes(Passing how, std::uint8_t table = 0) {
    return {how, sizeof(To), sizeof(From), std::is_signed_v<From>, table};
}

// How an operation runs, and its marks.
struct Decoded {
    Operation run = nullptr;    // COMPUTE, DIVIDE
    Control control = COMPUTE;
    std::uint8_t detail =
        0;    // of an atomic or a reduction at a barrier: which; of a load: it polls
    bool writes = false;    // MACHINE, ATOMIC_UPDATE: it may write to an array
    bool only_looks = false;    // it has no result: a check of an index
    MachineOperation machine = nullptr;    // MACHINE
    const WarpOperation* meeting = nullptr;    // MEET
    PassingRule passing;    // COMPUTE, DIVIDE
    // A load: one before it that reads as many bytes from the same address register, with other
    // displacements, while nothing changes the register or the lanes that run; -1: none.
    std::int32_t like = -1;
};

struct NamedOperation {
    std::string name;
    Decoded decoded;
    // The types of the operands, results first, for the encoder; the last one stands for all that
    // follow. t, f: the opcode's last and first type; w: t of twice the width; u: u32; p: a
    // predicate; x: whatever the register is. Empty: its row in ptx/instructions.py has them.
    const char* operands = "";
};
inline std::vector<NamedOperation>& operations() {
    static std::vector<NamedOperation> table;
    return table;
}

// The parts of a name are put together out of line: there are thousands.
struct Name {
    __attribute__((noinline)) Name(const char* whole) : text(whole) {}
    __attribute__((noinline)) Name(std::string whole) : text(std::move(whole)) {}
    __attribute__((noinline)) Name(std::initializer_list<const char*> parts) {
        for (const char* part : parts) text += part;
    }
    std::string text;
};
// Each adds a row: an operation that computes; one that accesses memory, and whether it may write
// to an array; one that the scheduler runs itself.
__attribute__((noinline)) inline void add_operation(const Name& name, Operation run,
                                                    const char* operands = "t",
                                                    PassingRule passing = {},
                                                    Control control = COMPUTE) {
    operations().push_back({name.text, {run, control}, operands});
    operations().back().decoded.passing = passing;
}
enum Effect : bool { READS = false, WRITES = true };
__attribute__((noinline)) inline void add_operation(const Name& name, MachineOperation run,
                                                    Effect effect) {
    operations().push_back({name.text, {nullptr, MACHINE, 0, effect == WRITES, false, run}});
}
__attribute__((noinline)) inline void add_operation(const Name& name, Control control,
                                                    std::uint8_t detail = 0) {
    operations().push_back({name.text, {nullptr, control, detail, control == ATOMIC_UPDATE}});
}

// Computes result[l] = f(l) for the active lanes. `result` may be one of the sources, but may not
// overlap one in part. A full warp needs no test, so that the compiler vectorises its loop.
template <class T, class F>
inline __attribute__((always_inline)) void each_lane(T* result, std::uint32_t lanes, F f) {
    if (lanes == ALL_LANES) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
        for (int l = 0; l < WARP_SIZE; ++l) result[l] = f(l);
    } else {
        for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
            int l = __builtin_ctz(left);
            result[l] = f(l);
        }
    }
}
// The same for a predicate, with one bit for each lane.
template <class F>
inline __attribute__((always_inline)) void each_bit(std::uint32_t& result, std::uint32_t lanes,
                                                    F f) {
    std::uint32_t bits = 0;
    for (int l = 0; l < WARP_SIZE; ++l) bits |= static_cast<std::uint32_t>(f(l) ? 1 : 0) << l;
    result = (result & ~lanes) | (bits & lanes);
}
