// operations.h -- the table of operations: each runs one instruction of PTX for the 32 lanes of a
// warp
//
// An operation is a function that gets the warp, the instruction and the lanes that take part
// (never none). It must leave the results of the other lanes as they are. Operations register
// themselves by name, and encode.py asks the library for the names. A name is the instruction's own
// opcode without what stands in Instruction::flags, ::space or the operands:
//
//   add.s32   mul.wide.u16   mad.lo.s64   fma.f32 (of fma.rn.ftz.f32)   setp.lt.f32
//   setp.geu.and.f64   selp.b32   cvt.f32.s64 shl.b32   lop3.b32 (operand 4 is a constant) prmt.b32
//   dp4a.u32.s32   mma.m16n8k16.row.col.f32.f16.f16.f32
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "program.h"

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
using Operation = void (*)(Lanes&, const Instruction&, std::uint32_t lanes);

struct NamedOperation {
    std::string name;
    Operation run;
};
inline std::vector<NamedOperation>& operations() {
    static std::vector<NamedOperation> table;
    return table;
}
struct Register {
    Register(const char* name, Operation run) { operations().push_back({name, run}); }
};

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
