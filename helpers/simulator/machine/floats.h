// floats.h -- shared by the floating-point operations: operands as float or double, and results
// with the instruction's flags
//
// A format says how a slot becomes values and back. Operations of 16-bit formats are computed in
// float, on values that are exact there, and rounded once at the end (an operation whose float
// result would be rounded twice rounds it to odd first).
#pragma once
#include <type_traits>

#include "narrow.h"

struct Single {
    using Value = float;
    using Word = std::uint32_t;
    static constexpr int count = WARP_SIZE;
};
struct Double {
    using Value = double;
    using Word = std::uint64_t;
    static constexpr int count = WARP_SIZE;
};
template <bool brain, bool pairs> struct Short {
    using Value = float;
    using Word = std::uint16_t;
    static constexpr int count = pairs ? 2 * WARP_SIZE : WARP_SIZE;
    static constexpr Word exponent = brain ? 0x7F80 : 0x7C00;
    static constexpr float least = brain ? 0x1p-126f : 0x1p-14f;    // of those not subnormal
    static HALO_INLINE float widen(Word word) {
        return brain ? float_of_brain(word) : float_of_half(word);
    }
    static HALO_INLINE Word narrow(float value) {
        return brain ? brain_of_float(value) : half_of_float(value);
    }
};
using Half = Short<false, false>;
using HalfPair = Short<false, true>;
using Brain = Short<true, false>;
using BrainPair = Short<true, true>;
template <class Format> constexpr bool is_short = sizeof(typename Format::Word) == 2;

// Passes over the values of a warp. They are functions of their own: each is compiled once, not
// once an operation.
inline HALO_NOINLINE void flush_values(const float* values, float* result) {
    for (int l = 0; l < WARP_SIZE; ++l) result[l] = flushed(values[l]);
}
inline HALO_NOINLINE void saturate_values(float* values, int count) {
    for (int l = 0; l < count; ++l) values[l] = saturated(values[l]);
}
inline HALO_NOINLINE void saturate_values(double* values, int count) {
    for (int l = 0; l < count; ++l) values[l] = saturated(values[l]);
}
inline HALO_NOINLINE void rectify_values(float* values, int count) {
    for (int l = 0; l < count; ++l) values[l] = rectified(values[l]);
}
template <class Format>
HALO_NOINLINE void widen_values(const std::uint16_t* words, float* result, bool flush) {
    for (int l = 0; l < Format::count; ++l) result[l] = Format::widen(words[l]);
    if (flush)
        for (int l = 0; l < Format::count; ++l)
            if (std::fabs(result[l]) < Format::least) result[l] = std::copysign(0.0f, result[l]);
}
template <class Format>
HALO_NOINLINE void narrow_values(const float* values, std::uint16_t* result, bool flush) {
    for (int l = 0; l < Format::count; ++l) result[l] = Format::narrow(values[l]);
    if (flush)
        for (int l = 0; l < Format::count; ++l)
            if ((result[l] & Format::exponent) == 0) result[l] &= 0x8000;
}

// An operand's values: those of the slot, or a copy.
template <class Format> class Values {
  public:
    using Value = typename Format::Value;
    HALO_INLINE Values(const Lanes& w, const Instruction& i, int k)
        : Values(w, i.operand[k], i.flags) {}
    HALO_INLINE Values(const Lanes& w, std::int32_t operand, std::uint32_t flags) {
        values_ = w.at<const Value>(operand);
        if constexpr (is_short<Format>) {
            widen_values<Format>(w.at<const std::uint16_t>(operand), copy_, flags & FTZ);
            values_ = copy_;
        } else if constexpr (std::is_same_v<Format, Single>) {
            if (flags & FTZ) {
                flush_values(values_, copy_);
                values_ = copy_;
            }
        }
    }
    Values(const Values&) = delete;
    Values& operator=(const Values&) = delete;
    HALO_INLINE const Value* get() const { return values_; }

  private:
    alignas(64) Value copy_[Format::count];
    const Value* values_;
};

// The place of results: the slot, or a copy that `finish` changes by the flags and then stores.
template <class Format> class Results {
  public:
    using Value = typename Format::Value;
    HALO_INLINE Results(const Lanes& w, const Instruction& i, std::uint32_t lanes)
        : slot_(w.at<char>(i.operand[0])), flags_(i.flags & (FTZ | SATURATE | RELU)),
          lanes_(lanes) {
        direct_ = !is_short<Format> && flags_ == 0 && lanes == ALL_LANES;
    }
    Results(const Results&) = delete;
    Results& operator=(const Results&) = delete;
    HALO_INLINE Value* get() { return direct_ ? reinterpret_cast<Value*>(slot_) : copy_; }
    HALO_INLINE void finish() {
        if (direct_) return;
        if (flags_ & SATURATE) saturate_values(copy_, Format::count);
        if constexpr (!std::is_same_v<Format, Double>)
            if (flags_ & RELU) rectify_values(copy_, Format::count);
        if constexpr (is_short<Format>) {
            alignas(64) std::uint16_t words[Format::count];
            narrow_values<Format>(copy_, words, flags_ & FTZ);
            keep_bits<2 * Format::count / WARP_SIZE>(slot_, words, lanes_);
        } else {
            if constexpr (std::is_same_v<Format, Single>)
                if (flags_ & FTZ) flush_values(copy_, copy_);
            keep_bits<sizeof(Value)>(slot_, copy_, lanes_);
        }
    }

  private:
    alignas(64) Value copy_[Format::count];
    char* slot_;
    std::uint32_t flags_, lanes_;
    bool direct_;
};

// An operation on doubles passes on the first NaN among its operands (for a fused multiply-add the
// first factor's, then the addend's). An invalid operation without one returns NAN_64.
template <class... Rest> HALO_INLINE double first_nan(double a, Rest... rest) {
    if constexpr (sizeof...(rest) == 0)
        return bits_of<double>(a != a ? bits_of<std::uint64_t>(a) | QUIET_64 : NAN_64);
    else
        return a != a ? bits_of<double>(bits_of<std::uint64_t>(a) | QUIET_64) : first_nan(rest...);
}
template <class... Rest> HALO_INLINE float settled(float value, float, Rest...) {
    return canonical(value);
}
template <class... Rest> HALO_INLINE double settled(double value, double a, Rest... rest) {
    return value == value ? value : first_nan(a, rest...);
}

// Whether an operation on floats or doubles is one of all lanes, without flags.
HALO_INLINE bool is_plain(const Instruction& i, std::uint32_t lanes) {
    return lanes == ALL_LANES && (i.flags & (ROUND_MASK | FTZ | SATURATE | RELU)) == 0;
}

template <class Format, class Op>
HALO_NOINLINE void any_unary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    using Value = typename Format::Value;
    const Values<Format> first(w, i, 1);
    Results<Format> results(w, i, lanes);
    const Value* a = first.get();
    Value* d = results.get();
    if (!is_short<Format> && i.flags & ROUND_MASK) {
        const RoundingMode mode(i.flags);
        for (int l = 0; l < Format::count; ++l) {
            volatile Value x = a[l], result = Op::of(Value(x));
            d[l] = settled(Value(result), a[l]);
        }
    } else {
        HALO_INDEPENDENT
        for (int l = 0; l < Format::count; ++l) d[l] = settled(Op::of(a[l]), a[l]);
    }
    results.finish();
}
template <class Format, class Op>
HALO_NOINLINE void any_binary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    using Value = typename Format::Value;
    const Values<Format> first(w, i, 1), second(w, i, 2);
    Results<Format> results(w, i, lanes);
    const Value *a = first.get(), *b = second.get();
    Value* d = results.get();
    if (!is_short<Format> && i.flags & ROUND_MASK) {
        const RoundingMode mode(i.flags);
        for (int l = 0; l < Format::count; ++l) {
            volatile Value x = a[l], y = b[l], result = Op::of(Value(x), Value(y));
            d[l] = settled(Value(result), a[l], b[l]);
        }
    } else {
        HALO_INDEPENDENT
        for (int l = 0; l < Format::count; ++l) d[l] = settled(Op::of(a[l], b[l]), a[l], b[l]);
    }
    results.finish();
}
template <class Format, class Op>
HALO_NOINLINE void any_ternary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    using Value = typename Format::Value;
    const Values<Format> first(w, i, 1), second(w, i, 2), third(w, i, 3);
    Results<Format> results(w, i, lanes);
    const Value *a = first.get(), *b = second.get(), *c = third.get();
    Value* d = results.get();
    if constexpr (!is_short<Format>) {
        if (i.flags & ROUND_MASK) {
            const RoundingMode mode(i.flags);
            for (int l = 0; l < Format::count; ++l) {
                volatile Value x = a[l], y = b[l], z = c[l],
                               result = Op::in_mode(Value(x), Value(y), Value(z));
                d[l] = settled(Value(result), a[l], c[l], b[l]);
            }
            return results.finish();
        }
    }
    HALO_INDEPENDENT
    for (int l = 0; l < Format::count; ++l)
        d[l] = settled(Op::of(a[l], b[l], c[l]), a[l], c[l], b[l]);
    results.finish();
}

// Nearly all operations are plain. They keep no copies on the stack.
template <class Format, class Op> void unary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    if constexpr (!is_short<Format>) {
        using Value = typename Format::Value;
        if (is_plain(i, lanes)) {
            const Value *a = source<Value>(w, i, 1);
            Value* const d = result_of<Value>(w, i);
            HALO_INDEPENDENT
            for (int l = 0; l < WARP_SIZE; ++l) d[l] = settled(Op::of(a[l]), a[l]);
            return;
        }
    }
    any_unary<Format, Op>(w, i, lanes);
}
template <class Format, class Op>
void binary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    if constexpr (!is_short<Format>) {
        using Value = typename Format::Value;
        if (is_plain(i, lanes)) {
            const Value *a = source<Value>(w, i, 1), *b = source<Value>(w, i, 2);
            Value* const d = result_of<Value>(w, i);
            HALO_INDEPENDENT
            for (int l = 0; l < WARP_SIZE; ++l) d[l] = settled(Op::of(a[l], b[l]), a[l], b[l]);
            return;
        }
    }
    any_binary<Format, Op>(w, i, lanes);
}
template <class Format, class Op>
void ternary(Lanes& w, const Instruction& i, std::uint32_t lanes) {
    if constexpr (!is_short<Format>) {
        using Value = typename Format::Value;
        if (is_plain(i, lanes)) {
            const Value *a = source<Value>(w, i, 1), *b = source<Value>(w, i, 2),
                *c = source<Value>(w, i, 3);
            Value* const d = result_of<Value>(w, i);
            HALO_INDEPENDENT
            for (int l = 0; l < WARP_SIZE; ++l)
                d[l] = settled(Op::of(a[l], b[l], c[l]), a[l], c[l], b[l]);
            return;
        }
    }
    any_ternary<Format, Op>(w, i, lanes);
}
