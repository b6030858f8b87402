// loops.h -- loops over the lanes of a warp, for operations without side effects
//
// all_lanes computes every lane and then keeps the results of the active ones. For cheap operations
// this is faster than a loop over the active lanes, because the compiler vectorises it. Expensive
// operations such as a division use lane_by_lane.
#pragma once
#include "operations.h"

#if defined(__clang__)
#define HALO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HALO_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define HALO_INLINE inline __attribute__((always_inline))
#define HALO_NOINLINE __attribute__((noinline))

template <class To, class From> HALO_INLINE To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From), "the same bits, read as another type");
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

template <int bytes> struct Unsigned;
template <> struct Unsigned<1> {
    using type = std::uint8_t;
};
template <> struct Unsigned<2> {
    using type = std::uint16_t;
};
template <> struct Unsigned<4> {
    using type = std::uint32_t;
};
template <> struct Unsigned<8> {
    using type = std::uint64_t;
};
// The same, for values of any type.
template <int bytes> struct AnyBits;
template <> struct AnyBits<2> {
    typedef std::uint16_t __attribute__((may_alias)) type;
};
template <> struct AnyBits<4> {
    typedef std::uint32_t __attribute__((may_alias)) type;
};
template <> struct AnyBits<8> {
    typedef std::uint64_t __attribute__((may_alias)) type;
};

// result[l] = values[l] for the lanes that take part.
template <int bytes>
HALO_NOINLINE void keep_bits(void* result, const void* values, std::uint32_t lanes) {
    using Bits = typename AnyBits<bytes>::type;
    Bits* out = static_cast<Bits*>(result);
    const Bits* in = static_cast<const Bits*>(values);
    for (int l = 0; l < WARP_SIZE; ++l) {
        const Bits mask = static_cast<Bits>(-static_cast<Bits>(lanes >> l & 1));
        out[l] = static_cast<Bits>((in[l] & mask) | (out[l] & static_cast<Bits>(~mask)));
    }
}
template <class T> HALO_INLINE void keep(T* result, const T* values, std::uint32_t lanes) {
    keep_bits<sizeof(T)>(result, values, lanes);
}

template <class T, class F> HALO_INLINE void all_lanes(T* result, std::uint32_t lanes, F f) {
    T spare[WARP_SIZE];    // not aligned: that would cost every operation some instructions
    T* out = lanes == ALL_LANES ? result : spare;
    HALO_INDEPENDENT
    for (int l = 0; l < WARP_SIZE; ++l) out[l] = f(l);
    if (lanes != ALL_LANES) keep(result, spare, lanes);
}

template <class T, class F> HALO_INLINE void lane_by_lane(T* result, std::uint32_t lanes, F f) {
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
        const int l = __builtin_ctz(left);
        result[l] = f(l);
    }
}

// Collects one bit of each lane.
template <class F> HALO_INLINE std::uint32_t bits_where(F f) {
    std::uint32_t bits = 0;
    for (int l = 0; l < WARP_SIZE; ++l) bits |= static_cast<std::uint32_t>(f(l) ? 1 : 0) << l;
    return bits;
}
HALO_INLINE void keep_predicate(std::uint32_t& result, std::uint32_t bits, std::uint32_t lanes) {
    result = (result & ~lanes) | (bits & lanes);
}

// A slot of an instruction's operands (the first six, known when the machine is built).
template <class T> HALO_INLINE const T* source(const Lanes& w, const Instruction& i, int k) {
    return w.at<const T>(i.operand[k]);
}
template <class T> HALO_INLINE T* result_of(const Lanes& w, const Instruction& i) {
    return w.at<T>(i.operand[0]);
}
