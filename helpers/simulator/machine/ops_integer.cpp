// ops_integer.cpp -- arithmetic of integers: add ... sad, with and without a carry
#include <type_traits>

#include "loops.h"

namespace {

using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

template <class T> struct Twice;
template <> struct Twice<uint16_t> {
    using type = uint32_t;
};
template <> struct Twice<int16_t> {
    using type = int32_t;
};
template <> struct Twice<uint32_t> {
    using type = uint64_t;
};
template <> struct Twice<int32_t> {
    using type = int64_t;
};
template <> struct Twice<uint64_t> {
    using type = unsigned __int128;
};
template <> struct Twice<int64_t> {
    using type = __int128;
};
template <class T> using Wide = typename Twice<T>::type;

// Sums and products wrap around: they are computed without a sign, in at least 32 bits.
template <class T> using Modular = typename Unsigned<(sizeof(T) < 4 ? 4 : sizeof(T))>::type;
template <class T> HALO_INLINE T wrapped(Modular<T> value) { return static_cast<T>(value); }
template <class T> constexpr T least =
    static_cast<T>(std::is_signed_v<T> ? Modular<T>(1) << (8 * sizeof(T) - 1) : 0);

struct Add {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return wrapped<T>(Modular<T>(a) + Modular<T>(b));
    }
};
struct Subtract {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return wrapped<T>(Modular<T>(a) - Modular<T>(b));
    }
};
struct MultiplyLow {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return wrapped<T>(Modular<T>(a) * Modular<T>(b));
    }
};
struct MultiplyHigh {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return static_cast<T>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b) >> 8 * sizeof(T));
    }
};
struct Minimum {
    template <class T> static HALO_INLINE T of(T a, T b) { return a < b ? a : b; }
};
struct Maximum {
    template <class T> static HALO_INLINE T of(T a, T b) { return a > b ? a : b; }
};
// A division by zero gives all ones, as the code that ptxas makes for it; the least number by -1
// wraps around.
struct Quotient {
    template <class T> static HALO_INLINE T of(T a, T b) {
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Subtract::of<T>(0, a);
        return static_cast<T>(a / b);
    }
};
struct Remainder {
    template <class T> static HALO_INLINE T of(T a, T b) {
        if (b == 0) return static_cast<T>(-1);
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
        return static_cast<T>(a % b);
    }
};
struct Negative {
    template <class T> static HALO_INLINE T of(T a) { return Subtract::of<T>(0, a); }
};
struct Absolute {
    template <class T> static HALO_INLINE T of(T a) { return a < 0 ? Subtract::of<T>(0, a) : a; }
};

template <class T, class Op> void unary(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T* a = source<T>(w, i, 1);
    all_lanes(result_of<T>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l]); });
}
template <class T, class Op> void binary(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    all_lanes(result_of<T>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l], b[l]); });
}
template <class T, class Op> void division(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    lane_by_lane(result_of<T>(w, i), lanes, [=](int l) { return Op::template of<T>(a[l], b[l]); });
}

HALO_INLINE int32_t clamped(int64_t value) {
    return static_cast<int32_t>(value < INT32_MIN   ? INT32_MIN
                                : value > INT32_MAX ? INT32_MAX
                                                    : value);
}
// add and sub of .s32 may saturate.
template <class Op> void saturable(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (!(i.flags & SATURATE)) return binary<int32_t, Op>(w, i, lanes);
    const int32_t *a = source<int32_t>(w, i, 1), *b = source<int32_t>(w, i, 2);
    all_lanes(result_of<int32_t>(w, i), lanes,
              [=](int l) { return clamped(Op::template of<int64_t>(a[l], b[l])); });
}
// min and max of .s32 may have .relu: nothing below zero.
template <class Op> void relu_able(Lanes& w, const Instruction& i, uint32_t lanes) {
    const int32_t *a = source<int32_t>(w, i, 1), *b = source<int32_t>(w, i, 2);
    const int32_t floor = i.flags & RELU ? 0 : INT32_MIN;
    all_lanes(result_of<int32_t>(w, i), lanes, [=](int l) {
        return Maximum::of<int32_t>(Op::template of<int32_t>(a[l], b[l]), floor);
    });
}
// Two numbers of 16 bits in a register of 32.
template <class T, class Op> void of_pairs(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2);
    const T floor = i.flags & RELU ? T(0) : least<T>;
    all_lanes(result_of<uint32_t>(w, i), lanes, [=](int l) {
        T low = Op::template of<T>(static_cast<T>(a[l]), static_cast<T>(b[l]));
        T high = Op::template of<T>(static_cast<T>(a[l] >> 16), static_cast<T>(b[l] >> 16));
        low = Maximum::of<T>(low, floor), high = Maximum::of<T>(high, floor);
        return static_cast<uint32_t>(static_cast<uint16_t>(low)) |
               static_cast<uint32_t>(static_cast<uint16_t>(high)) << 16;
    });
}

template <class T> void multiply_wide(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    all_lanes(result_of<Wide<T>>(w, i), lanes,
              [=](int l) { return MultiplyLow::of<Wide<T>>(Wide<T>(a[l]), Wide<T>(b[l])); });
}
template <class T> void multiply_wide_add(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    const Wide<T>* c = source<Wide<T>>(w, i, 3);
    all_lanes(result_of<Wide<T>>(w, i), lanes, [=](int l) {
        return Add::of<Wide<T>>(MultiplyLow::of<Wide<T>>(Wide<T>(a[l]), Wide<T>(b[l])), c[l]);
    });
}
template <class T, class Op> void multiply_add(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2), *c = source<T>(w, i, 3);
    all_lanes(result_of<T>(w, i), lanes,
              [=](int l) { return Add::of<T>(Op::template of<T>(a[l], b[l]), c[l]); });
}
// mad.hi.sat.s32 and mad24.hi.sat.s32
template <class Op> void saturable_add(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (!(i.flags & SATURATE)) return multiply_add<int32_t, Op>(w, i, lanes);
    const int32_t *a = source<int32_t>(w, i, 1), *b = source<int32_t>(w, i, 2),
                  *c = source<int32_t>(w, i, 3);
    all_lanes(result_of<int32_t>(w, i), lanes,
              [=](int l) { return clamped(int64_t(Op::template of<int32_t>(a[l], b[l])) + c[l]); });
}

// The low 24 bits of both, with the sign that they have there; .lo is bits 0 to 31 of the product,
// .hi bits 16 to 47.
template <class T> HALO_INLINE Wide<T> product_of_24(T a, T b) {
    return static_cast<Wide<T>>(
               static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << 8) >> 8)) *
           static_cast<T>(static_cast<T>(static_cast<uint32_t>(b) << 8) >> 8);
}
struct Low24 {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return static_cast<T>(product_of_24<T>(a, b));
    }
};
struct High24 {
    template <class T> static HALO_INLINE T of(T a, T b) {
        return static_cast<T>(product_of_24<T>(a, b) >> 16);
    }
};

template <class T> void sum_of_differences(Lanes& w, const Instruction& i, uint32_t lanes) {
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2), *c = source<T>(w, i, 3);
    all_lanes(result_of<T>(w, i), lanes, [=](int l) {
        return Add::of<T>(c[l],
                          a[l] < b[l] ? Subtract::of<T>(b[l], a[l]) : Subtract::of<T>(a[l], b[l]));
    });
}

// a + b + the carry, or a - b - the borrow. `takes` is true of addc, subc and madc, `leaves` of
// those with .cc.
template <class T, bool minus, bool takes, bool leaves>
HALO_INLINE void with_carry(Lanes& w, T* result, const T* a, const T* b, uint32_t lanes) {
    const uint32_t before = w.carry;
    uint32_t after = before;
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const T x = a[l], y = b[l], in = takes ? static_cast<T>(before >> l & 1) : 0;
        const T first = minus ? x - y : x + y, both = minus ? first - in : first + in;
        const bool out = minus ? (x < y || first < in) : (first < x || both < first);
        result[l] = both;
        if (leaves) after = (after & ~(1u << l)) | static_cast<uint32_t>(out) << l;
    }
    w.carry = after;
}
template <class T, bool minus, bool takes, bool leaves>
void carry_sum(Lanes& w, const Instruction& i, uint32_t lanes) {
    with_carry<T, minus, takes, leaves>(w, result_of<T>(w, i), source<T>(w, i, 1),
                                        source<T>(w, i, 2), lanes);
}
template <class T, class Op, bool takes, bool leaves>
void carry_product(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Word = typename Unsigned<sizeof(T)>::type;
    const T *a = source<T>(w, i, 1), *b = source<T>(w, i, 2);
    Word products[WARP_SIZE];
    for (int l = 0; l < WARP_SIZE; ++l)
        products[l] = static_cast<Word>(Op::template of<T>(a[l], b[l]));
    with_carry<Word, false, takes, leaves>(w, result_of<Word>(w, i), products,
                                           source<Word>(w, i, 3), lanes);
}

template <class T> void of_each_type(const char* type) {
    const PassingRule carries = passes<T>(Passing::CARRY);
    add_operation({"mul.lo.", type}, binary<T, MultiplyLow>, "t", carries);
    add_operation({"mul.hi.", type}, binary<T, MultiplyHigh>);
    add_operation({"mad.lo.", type}, multiply_add<T, MultiplyLow>, "t", carries);
    add_operation({"div.", type}, division<T, Quotient>, "t", {}, DIVIDE);
    add_operation({"rem.", type}, division<T, Remainder>, "t", {}, DIVIDE);
    add_operation({"sad.", type}, sum_of_differences<T>);
    if constexpr (std::is_signed_v<T>) {
        add_operation({"neg.", type}, unary<T, Negative>, "t", carries);
        add_operation({"abs.", type}, unary<T, Absolute>);
    }
    if constexpr (std::is_same_v<T, int32_t>) {
        add_operation({"add.", type}, saturable<Add>, "t", carries);
        add_operation({"sub.", type}, saturable<Subtract>, "t", carries);
        add_operation({"mad.hi.", type}, saturable_add<MultiplyHigh>);
        add_operation({"min.", type}, relu_able<Minimum>);
        add_operation({"max.", type}, relu_able<Maximum>);
    } else {
        add_operation({"add.", type}, binary<T, Add>, "t", carries);
        add_operation({"sub.", type}, binary<T, Subtract>, "t", carries);
        add_operation({"mad.hi.", type}, multiply_add<T, MultiplyHigh>);
        add_operation({"min.", type}, binary<T, Minimum>);
        add_operation({"max.", type}, binary<T, Maximum>);
    }
}
template <class T> void of_halves(const char* type) {
    PassingRule carries = passes<T>(Passing::CARRY);
    carries.to = 2 * sizeof(T);
    add_operation({"mul.wide.", type}, multiply_wide<T>, "wtt", carries);
    add_operation({"mad.wide.", type}, multiply_wide_add<T>, "wttw", carries);
}
template <class T> void of_24_bits(const char* type) {
    add_operation({"mul24.lo.", type}, binary<T, Low24>);
    add_operation({"mul24.hi.", type}, binary<T, High24>);
    add_operation({"mad24.lo.", type}, multiply_add<T, Low24>);
    if constexpr (std::is_signed_v<T>)
        add_operation({"mad24.hi.", type}, saturable_add<High24>);
    else
        add_operation({"mad24.hi.", type}, multiply_add<T, High24>);
}
template <class T, class Word = typename Unsigned<sizeof(T)>::type>
void of_carries(const char* type) {
    add_operation({"add.cc.", type}, carry_sum<Word, false, false, true>);
    add_operation({"addc.", type}, carry_sum<Word, false, true, false>);
    add_operation({"addc.cc.", type}, carry_sum<Word, false, true, true>);
    add_operation({"sub.cc.", type}, carry_sum<Word, true, false, true>);
    add_operation({"subc.", type}, carry_sum<Word, true, true, false>);
    add_operation({"subc.cc.", type}, carry_sum<Word, true, true, true>);
    add_operation({"mad.lo.cc.", type}, carry_product<T, MultiplyLow, false, true>);
    add_operation({"mad.hi.cc.", type}, carry_product<T, MultiplyHigh, false, true>);
    add_operation({"madc.lo.", type}, carry_product<T, MultiplyLow, true, false>);
    add_operation({"madc.hi.", type}, carry_product<T, MultiplyHigh, true, false>);
    add_operation({"madc.lo.cc.", type}, carry_product<T, MultiplyLow, true, true>);
    add_operation({"madc.hi.cc.", type}, carry_product<T, MultiplyHigh, true, true>);
}
template <class T> void of_each_pair(const char* type) {
    add_operation({"add.", type}, of_pairs<T, Add>);
    add_operation({"min.", type}, of_pairs<T, Minimum>);
    add_operation({"max.", type}, of_pairs<T, Maximum>);
}

const bool registered = [] {
    of_each_type<uint16_t>("u16"), of_each_type<uint32_t>("u32"), of_each_type<uint64_t>("u64");
    of_each_type<int16_t>("s16"), of_each_type<int32_t>("s32"), of_each_type<int64_t>("s64");
    of_halves<uint16_t>("u16"), of_halves<int16_t>("s16"), of_halves<uint32_t>("u32"),
        of_halves<int32_t>("s32");
    of_24_bits<uint32_t>("u32"), of_24_bits<int32_t>("s32");
    of_carries<uint32_t>("u32"), of_carries<int32_t>("s32"), of_carries<uint64_t>("u64"),
        of_carries<int64_t>("s64");
    of_each_pair<uint16_t>("u16x2"), of_each_pair<int16_t>("s16x2");
    return true;
}();

}    // namespace
