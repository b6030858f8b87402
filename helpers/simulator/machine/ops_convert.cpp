// ops_convert.cpp -- cvt among integers and floating-point numbers
//
// 8-bit integers lie in slots of 16 bits, with the sign or zeros above them.
#include <limits>
#include <type_traits>

#include "floats.h"

namespace {

using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

// The type of an integer's slot.
template <class T> using Slot =
    std::conditional_t<sizeof(T) == 1,
                       std::conditional_t<std::is_signed_v<T>, std::int16_t, uint16_t>, T>;

template <class To, class From> void integers(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Source = std::numeric_limits<From>;
    using Target = std::numeric_limits<To>;
    // The limits of both types, as numbers of the source's.
    const bool clamp = i.flags & SATURATE;
    constexpr bool more_below =
        std::is_signed_v<From> && (!std::is_signed_v<To> || Source::digits > Target::digits);
    constexpr bool more_above = Source::digits > Target::digits;
    const From low = clamp && more_below ? static_cast<From>(Target::min()) : Source::min();
    const From high = clamp && more_above ? static_cast<From>(Target::max()) : Source::max();
    const Slot<From>* a = source<Slot<From>>(w, i, 1);
    all_lanes(result_of<Slot<To>>(w, i), lanes, [=](int l) -> Slot<To> {
        const From value = static_cast<From>(a[l]), raised = value < low ? low : value;
        return static_cast<To>(raised > high ? high : raised);
    });
}

// Integers to floating point: rounded once. 64-bit integers become 16-bit formats through a double
// that is rounded to odd.
HALO_INLINE double odd_double(uint64_t value) {
    // Rounded to odd by joining the low bits where the number needs more than 53.
    const int excess = value >> 53 == 0 ? 0 : 11 - __builtin_clzll(value);
    const uint64_t rest = value & ((uint64_t(1) << excess) - 1);
    const uint64_t kept = value >> excess | (rest != 0 ? 1 : 0);
    return static_cast<double>(kept) * static_cast<double>(uint64_t(1) << excess);
}
template <class Float, class From> void to_float(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Slot<From>* a = source<Slot<From>>(w, i, 1);
    alignas(64) Float values[WARP_SIZE];
    if (i.flags & ROUND_MASK) {
        const RoundingMode mode(i.flags);
        for (int l = 0; l < WARP_SIZE; ++l) {
            volatile From given = static_cast<From>(a[l]);
            volatile Float result = static_cast<Float>(From(given));
            values[l] = result;
        }
    } else {
        HALO_INDEPENDENT
        for (int l = 0; l < WARP_SIZE; ++l) values[l] = static_cast<Float>(static_cast<From>(a[l]));
    }
    if (i.flags & SATURATE) saturate_values(values, WARP_SIZE);
    keep(result_of<Float>(w, i), values, lanes);
}
template <bool brain, class From> void to_short(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Slot<From>* a = source<Slot<From>>(w, i, 1);
    const Narrow& format = brain ? BRAIN_BITS : HALF_BITS;
    lane_by_lane(result_of<uint16_t>(w, i), lanes, [&](int l) {
        const From value = static_cast<From>(a[l]);
        const bool negative = std::is_signed_v<From> && value < 0;
        const double size =
            odd_double(negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
        double given = negative ? -size : size;
        if (i.flags & SATURATE) given = saturated(given);
        return static_cast<uint16_t>(narrowed(given, format, i.flags & ROUND_MASK));
    });
}

// A whole number next to `value`: .rni .rzi .rmi .rpi. Its sign is that of `value`.
template <class Float> HALO_INLINE Float whole(Float value, uint32_t mode) {
    switch (mode & ROUND_MASK) {
    case ROUND_ZERO: return std::trunc(value);
    case ROUND_DOWN: return std::floor(value);
    case ROUND_UP: return std::ceil(value);
    default: return std::nearbyint(value);
    }
}
// Out of range goes to the end of the range. A NaN gives zero; where 64 bits are on one side (f64
// or a 64-bit integer), the highest bit alone.
template <class To, class Float> HALO_INLINE To to_integer(Float value, bool wide) {
    // 2 to the number of bits, without the sign's: the first number above the range. Exact in any
    // format.
    constexpr Float beyond =
        static_cast<Float>(uint64_t(1) << (std::numeric_limits<To>::digits - 1)) * Float(2);
    constexpr Float lowest = std::is_signed_v<To> ? -beyond : Float(0);
    const To top = static_cast<To>(typename Unsigned<sizeof(To)>::type(1) << (8 * sizeof(To) - 1));
    if (value != value) return wide ? top : To(0);
    if (value >= beyond) return std::numeric_limits<To>::max();
    if (value <= lowest) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
}
template <class To, class Value> HALO_NOINLINE void put_integers(Lanes& w, const Instruction& i,
                                                                 uint32_t lanes,
                                                                 const Value* values) {
    constexpr bool wide = sizeof(To) == 8 || std::is_same_v<Value, double>;
    all_lanes(result_of<Slot<To>>(w, i), lanes,
              [=](int l) -> Slot<To> { return to_integer<To>(values[l], wide); });
}
template <class Value>
HALO_NOINLINE void round_to_whole(const Value* values, Value* result, uint32_t mode) {
    for (int l = 0; l < WARP_SIZE; ++l) result[l] = whole(values[l], mode);
}
template <class To, class Format> void from_float(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Value = typename Format::Value;
    const Values<Format> first(w, i, 1);
    // Truncation is what a conversion in C++ does.
    if ((i.flags & ROUND_MASK) == ROUND_ZERO)
        return put_integers<To, Value>(w, i, lanes, first.get());
    alignas(64) Value values[WARP_SIZE];
    round_to_whole(first.get(), values, i.flags & ROUND_MASK);
    put_integers<To, Value>(w, i, lanes, values);
}

// Floating point to floating point, through values that are exact.
template <class Format>
HALO_INLINE void put_values(Lanes& w, const Instruction& i, uint32_t lanes, double* values) {
    const uint32_t flags = i.flags;
    if (flags & SATURATE) saturate_values(values, WARP_SIZE);
    if constexpr (std::is_same_v<Format, Double>) {
        alignas(64) uint64_t bits[WARP_SIZE];
        for (int l = 0; l < WARP_SIZE; ++l)
            bits[l] = values[l] == values[l] ? bits_of<uint64_t>(values[l])
                                             : bits_of<uint64_t>(values[l]) | QUIET_64;
        keep(result_of<uint64_t>(w, i), bits, lanes);
    } else if constexpr (std::is_same_v<Format, Single>) {
        alignas(64) float results[WARP_SIZE];
        if (flags & ROUND_MASK && !(flags & ROUND_INTEGER)) {
            const RoundingMode mode(flags);
            for (int l = 0; l < WARP_SIZE; ++l) {
                volatile double given = values[l];
                volatile float result = static_cast<float>(double(given));
                results[l] = canonical(result);
            }
        } else {
            for (int l = 0; l < WARP_SIZE; ++l)
                results[l] = canonical(static_cast<float>(values[l]));
        }
        if (flags & RELU) rectify_values(results, WARP_SIZE);
        if (flags & FTZ) flush_values(results, results);
        keep(result_of<float>(w, i), results, lanes);
    } else {
        alignas(64) uint16_t words[WARP_SIZE];
        const uint32_t mode = flags & ROUND_INTEGER ? flags & ~ROUND_MASK : flags;
        if (mode & (ROUND_MASK | RELU | SATFINITE)) {
            const Narrow& format = std::is_same_v<Format, Brain> ? BRAIN_BITS : HALF_BITS;
            for (int l = 0; l < WARP_SIZE; ++l)
                words[l] = static_cast<uint16_t>(narrowed(values[l], format, mode));
        } else {
            for (int l = 0; l < WARP_SIZE; ++l) words[l] = Format::narrow(odd_float(values[l]));
        }
        keep(result_of<uint16_t>(w, i), words, lanes);
    }
}
// A NaN of 64 bits keeps its sign and the upper bits of its fraction; it becomes a quiet one.
template <class Word> HALO_INLINE Word narrowed_nan(uint64_t bits, int digits) {
    const int width = 8 * sizeof(Word);
    const uint64_t sign = bits >> 63 << (width - 1), fraction = bits << 12 >> (64 - digits);
    const uint64_t quiet = (uint64_t(1) << (width - 1)) - (uint64_t(1) << (digits - 1));
    return static_cast<Word>(sign | quiet | fraction);
}
template <class To> void narrow_doubles(Lanes& w, const Instruction& i, uint32_t lanes,
                                        double* values) {
    using Word = typename To::Word;
    constexpr int digits = sizeof(Word) == 4 ? 23 : std::is_same_v<To, Brain> ? 7 : 10;
    alignas(64) Word words[WARP_SIZE];
    uint32_t nans = 0;
    for (int l = 0; l < WARP_SIZE; ++l) {
        if (values[l] == values[l]) continue;
        nans |= 1u << l, words[l] = narrowed_nan<Word>(bits_of<uint64_t>(values[l]), digits);
    }
    put_values<To>(w, i, lanes, values);
    if (nans & lanes && !(i.flags & (SATURATE | RELU | SATFINITE)))
        keep(result_of<Word>(w, i), words, nans & lanes);
}
template <class To, class From> void floats(Lanes& w, const Instruction& i, uint32_t lanes) {
    // .ftz is of f32 only: of a source of f32 here, of a result in put_values.
    const Values<From> first(w, i.operand[1], std::is_same_v<From, Single> ? i.flags : 0);
    const typename From::Value* a = first.get();
    alignas(64) double values[WARP_SIZE];
    if (i.flags & ROUND_INTEGER)
        for (int l = 0; l < WARP_SIZE; ++l) values[l] = whole(static_cast<double>(a[l]), i.flags);
    else
        for (int l = 0; l < WARP_SIZE; ++l) values[l] = a[l];
    if constexpr (std::is_same_v<From, Double> && !std::is_same_v<To, Double>)
        narrow_doubles<To>(w, i, lanes, values);
    else
        put_values<To>(w, i, lanes, values);
}
// The usual ones without a detour: nothing but rounding to the nearest.
void half_of_single(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & (ROUND_MASK | FTZ | SATURATE | RELU | SATFINITE))
        return floats<Half, Single>(w, i, lanes);
    const float* a = source<float>(w, i, 1);
    all_lanes(result_of<uint16_t>(w, i), lanes, [=](int l) { return half_of_float(a[l]); });
}
void brain_of_single(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & (ROUND_MASK | FTZ | SATURATE | RELU | SATFINITE))
        return floats<Brain, Single>(w, i, lanes);
    const float* a = source<float>(w, i, 1);
    all_lanes(result_of<uint16_t>(w, i), lanes, [=](int l) { return brain_of_float(a[l]); });
}
void single_of_half(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & (SATURATE | RELU)) return floats<Single, Half>(w, i, lanes);
    const uint16_t* a = source<uint16_t>(w, i, 1);
    all_lanes(result_of<float>(w, i), lanes, [=](int l) { return canonical(float_of_half(a[l])); });
}
void single_of_brain(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & (SATURATE | RELU | FTZ)) return floats<Single, Brain>(w, i, lanes);
    const uint16_t* a = source<uint16_t>(w, i, 1);
    // The bits move up, those of a NaN as well. (Words, since a float's way through the host's
    // registers may change a NaN.)
    all_lanes(result_of<uint32_t>(w, i), lanes,
              [=](int l) { return static_cast<uint32_t>(a[l]) << 16; });
}

// d, a, b: two floats into one register, a above b.
HALO_INLINE uint32_t two_narrowed(float a, float b, const Narrow& format, uint32_t flags) {
    const int width = 1 + format.exponent_bits + format.digits;
    return narrowed(a, format, flags) << width | narrowed(b, format, flags);
}
template <bool brain> void pair_of_singles(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Values<Single> first(w, i, 1), second(w, i, 2);
    const float *a = first.get(), *b = second.get();
    const uint32_t flags = i.flags;
    if (flags & (ROUND_MASK | RELU | SATFINITE)) {
        lane_by_lane(result_of<uint32_t>(w, i), lanes, [=](int l) {
            return two_narrowed(a[l], b[l], brain ? BRAIN_BITS : HALF_BITS, flags);
        });
    } else {
        all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
            const uint32_t high = brain ? brain_of_float(a[l]) : half_of_float(a[l]);
            return high << 16 | (brain ? brain_of_float(b[l]) : half_of_float(b[l]));
        });
    }
}
template <bool e5m2> void bytes_of_singles(Lanes& w, const Instruction& i, uint32_t lanes) {
    const float *a = source<float>(w, i, 1), *b = source<float>(w, i, 2);
    lane_by_lane(result_of<uint16_t>(w, i), lanes, [&](int l) {
        return static_cast<uint16_t>(
            two_narrowed(a[l], b[l], e5m2 ? E5M2_BITS : E4M3_BITS, i.flags));
    });
}
template <bool e5m2, bool brain>
void bytes_of_pair(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = source<uint32_t>(w, i, 1);
    lane_by_lane(result_of<uint16_t>(w, i), lanes, [&](int l) {
        const uint16_t high = static_cast<uint16_t>(a[l] >> 16), low = static_cast<uint16_t>(a[l]);
        return static_cast<uint16_t>(
            two_narrowed(brain ? float_of_brain(high) : float_of_half(high),
                         brain ? float_of_brain(low) : float_of_half(low),
                         e5m2 ? E5M2_BITS : E4M3_BITS, i.flags));
    });
}
template <bool e5m2, bool brain>
void pair_of_bytes(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint16_t* a = source<uint16_t>(w, i, 1);
    const Narrow &from = e5m2 ? E5M2_BITS : E4M3_BITS, &to = brain ? BRAIN_BITS : HALF_BITS;
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [&](int l) {
        return two_narrowed(widened(a[l] >> 8, from), widened(a[l] & 0xFF, from), to,
                            i.flags & RELU);
    });
}
void tf32_of_single(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), flags = i.flags;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) { return tf32_of_float(a[l], flags); });
}

// cvt.pack d, a, b {, c}: a and b, clamped to `bits` bits, below them what c has there, from its
// lowest bits on.
template <int bits, bool with_sign>
void pack_integers(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr int64_t low = with_sign ? -(int64_t(1) << (bits - 1)) : 0,
                      high = low + (int64_t(1) << bits) - 1;
    constexpr uint32_t mask = (1u << bits) - 1;
    const std::int32_t *a = source<std::int32_t>(w, i, 1), *b = source<std::int32_t>(w, i, 2);
    const uint32_t* c = bits < 16 ? source<uint32_t>(w, i, 3) : nullptr;
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=](int l) {
        const uint32_t upper = static_cast<uint32_t>(a[l] < low    ? low
                                                     : a[l] > high ? high
                                                                   : a[l]) &
                               mask;
        const uint32_t lower = static_cast<uint32_t>(b[l] < low    ? low
                                                     : b[l] > high ? high
                                                                   : b[l]) &
                               mask;
        const uint32_t both = upper << bits | lower;
        return bits < 16 ? c[l] << (2 * bits % 32) | both : both;
    });
}

void add_conversion(const Name& name, Operation run, PassingRule passing = {}) {
    add_operation(name, run, "ft", passing);
}
template <class From, class... To>
void from_integer(const char* from, const char* const (&names)[8]) {
    int k = 0;
    (add_conversion({"cvt.", names[k++], ".", from}, integers<To, From>,
                    passes<To, From>(Passing::CONVERT)),
     ...);
    add_conversion({"cvt.f32.", from}, to_float<float, From>);
    add_conversion({"cvt.f64.", from}, to_float<double, From>);
    add_conversion({"cvt.f16.", from}, to_short<false, From>);
    add_conversion({"cvt.bf16.", from}, to_short<true, From>);
}
template <class Format, class... To>
void from_format(const char* from, const char* const (&names)[8]) {
    int k = 0;
    (add_conversion({"cvt.", names[k++], ".", from}, from_float<To, Format>), ...);
    add_conversion({"cvt.f64.", from}, floats<Double, Format>);
    if constexpr (!is_short<Format>) add_conversion({"cvt.f32.", from}, floats<Single, Format>);
    if constexpr (!std::is_same_v<Format, Single>) {
        add_conversion({"cvt.f16.", from}, floats<Half, Format>);
        add_conversion({"cvt.bf16.", from}, floats<Brain, Format>);
    }
}
template <bool e5m2> void of_bytes(const char* type) {
    add_conversion({"cvt.", type, ".f32"}, bytes_of_singles<e5m2>);
    add_conversion({"cvt.", type, ".f16x2"}, bytes_of_pair<e5m2, false>);
    add_conversion({"cvt.", type, ".bf16x2"}, bytes_of_pair<e5m2, true>);
    add_conversion({"cvt.f16x2.", type}, pair_of_bytes<e5m2, false>);
    add_conversion({"cvt.bf16x2.", type}, pair_of_bytes<e5m2, true>);
}

#define HALO_INTEGERS                                                                              \
    std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,           \
        std::int64_t, std::uint64_t
const bool registered = [] {
    static const char* const names[8] = {"s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"};
    from_integer<std::int8_t, HALO_INTEGERS>("s8", names),
        from_integer<std::uint8_t, HALO_INTEGERS>("u8", names);
    from_integer<std::int16_t, HALO_INTEGERS>("s16", names),
        from_integer<uint16_t, HALO_INTEGERS>("u16", names);
    from_integer<std::int32_t, HALO_INTEGERS>("s32", names),
        from_integer<uint32_t, HALO_INTEGERS>("u32", names);
    from_integer<int64_t, HALO_INTEGERS>("s64", names),
        from_integer<uint64_t, HALO_INTEGERS>("u64", names);
    from_format<Single, HALO_INTEGERS>("f32", names),
        from_format<Double, HALO_INTEGERS>("f64", names);
    from_format<Half, HALO_INTEGERS>("f16", names),
        from_format<Brain, HALO_INTEGERS>("bf16", names);
    add_conversion("cvt.f16.f32", half_of_single);
    add_conversion("cvt.bf16.f32", brain_of_single);
    add_conversion("cvt.f32.f16", single_of_half);
    add_conversion("cvt.f32.bf16", single_of_brain);
    add_conversion("cvt.f16x2.f32", pair_of_singles<false>);
    add_conversion("cvt.bf16x2.f32", pair_of_singles<true>);
    add_conversion("cvt.tf32.f32", tf32_of_single);
    of_bytes<false>("e4m3x2"), of_bytes<true>("e5m2x2");
    add_operation("cvt.pack.s16.s32", pack_integers<16, true>, "u");
    add_operation("cvt.pack.u16.s32", pack_integers<16, false>, "u");
    add_operation("cvt.pack.s8.s32.b32", pack_integers<8, true>, "u");
    add_operation("cvt.pack.u8.s32.b32", pack_integers<8, false>, "u");
    add_operation("cvt.pack.s4.s32.b32", pack_integers<4, true>, "u");
    add_operation("cvt.pack.u4.s32.b32", pack_integers<4, false>, "u");
    add_operation("cvt.pack.s2.s32.b32", pack_integers<2, true>, "u");
    add_operation("cvt.pack.u2.s32.b32", pack_integers<2, false>, "u");
    return true;
}();

}    // namespace
