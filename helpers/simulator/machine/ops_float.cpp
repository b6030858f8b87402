// ops_float.cpp -- arithmetic that IEEE 754 defines, of f64, f32, f16 and bf16: add, sub, mul, fma,
// min, max, neg, abs
#include <type_traits>

#include "floats.h"

namespace {

using std::uint32_t;
using std::uint64_t;

struct Add {
    template <class T> static HALO_INLINE T of(T a, T b) { return a + b; }
};
struct Subtract {
    template <class T> static HALO_INLINE T of(T a, T b) { return a - b; }
};
struct Multiply {
    template <class T> static HALO_INLINE T of(T a, T b) { return a * b; }
};
struct MultiplyAdd {
    template <class T> static HALO_INLINE T of(T a, T b, T c) { return fused(a, b, c); }
    static double in_mode(double a, double b, double c) { return __builtin_fma(a, b, c); }
    static float in_mode(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};
// For 16-bit formats. The product of two halves is exact in float; that of bfloat16s may lie
// outside of float's range. A sum of three would be rounded twice.
struct MultiplyHalvesAdd {
    static HALO_INLINE float of(float a, float b, float c) { return odd_sum(a * b, c); }
};
struct MultiplyBrains {
    static HALO_INLINE float of(float a, float b) { return odd_float(static_cast<double>(a) * b); }
};
struct MultiplyBrainsAdd {
    static HALO_INLINE float of(float a, float b, float c) {
        return odd_float(odd_sum(static_cast<double>(a) * b, static_cast<double>(c)));
    }
};
struct Negative {
    template <class T> static HALO_INLINE T of(T a) { return -a; }
};
struct Absolute {
    static HALO_INLINE float of(float a) { return __builtin_fabsf(a); }
    static HALO_INLINE double of(double a) { return __builtin_fabs(a); }
};

// -0 is less than +0. A NaN loses against a number, unless .NaN asks for it.
template <class T> HALO_INLINE T lesser(T a, T b) {
    return a < b || (a == b && std::signbit(a)) || b != b ? a : b;
}
template <class T> HALO_INLINE T greater(T a, T b) {
    return a > b || (a == b && !std::signbit(a)) || b != b ? a : b;
}
template <bool minimum, class T> HALO_INLINE T chosen(T a, T b) {
    return minimum ? lesser(a, b) : greater(a, b);
}

// Only formats narrower than f64 have .NaN, so a NaN of f64 needs no rule here.
template <class T> HALO_NOINLINE void keep_nans(T* d, const T* a, const T* b, int count) {
    for (int l = 0; l < count; ++l)
        d[l] = a[l] != a[l] || b[l] != b[l] ? static_cast<T>(NAN) : d[l];
}
template <class Format, bool minimum> void extreme(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Value = typename Format::Value;
    const Values<Format> first(w, i, 1), second(w, i, 2);
    Results<Format> results(w, i, lanes);
    const Value *a = first.get(), *b = second.get();
    Value* d = results.get();
    alignas(64) Value spare[Format::count];
    const bool unusual = i.flags & (NAN_RESULT | XORSIGN_ABS) || i.count == 4;
    Value* out = unusual ? spare : d;
    if (i.flags & XORSIGN_ABS) {
        for (int l = 0; l < Format::count; ++l) {
            const Value size = chosen<minimum>(std::fabs(a[l]), std::fabs(b[l]));
            out[l] = std::signbit(a[l]) != std::signbit(b[l]) ? -size : size;
        }
    } else {
        HALO_INDEPENDENT
        for (int l = 0; l < Format::count; ++l)
            out[l] = settled(chosen<minimum>(a[l], b[l]), a[l], b[l]);
    }
    if (unusual) {
        if (i.flags & NAN_RESULT) keep_nans(out, a, b, Format::count);
        if (i.count == 4) {
            const Values<Format> third(w, i, 3);
            const Value* c = third.get();
            for (int l = 0; l < Format::count; ++l) {
                const Value both = out[l];
                const bool is_nan = i.flags & NAN_RESULT && (both != both || c[l] != c[l]);
                if (i.flags & XORSIGN_ABS) {
                    const Value size = chosen<minimum>(std::fabs(both), std::fabs(c[l]));
                    out[l] = std::signbit(both) != std::signbit(c[l]) ? -size : size;
                } else {
                    out[l] = chosen<minimum>(both, c[l]);
                }
                if (is_nan) out[l] = static_cast<Value>(NAN);
            }
        }
        for (int l = 0; l < Format::count; ++l) d[l] = settled(out[l], out[l]);
    }
    results.finish();
}

template <class Format> void copy_sign(Lanes& w, const Instruction& i, uint32_t lanes) {
    using Word = typename Format::Word;
    constexpr Word sign = Word(1) << (8 * sizeof(Word) - 1);
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    all_lanes(result_of<Word>(w, i), lanes,
              [=](int l) { return static_cast<Word>((a[l] & sign) | (b[l] & ~sign)); });
}

template <class Format> void of_each_format(const char* type) {
    constexpr bool brain = std::is_same_v<Format, Brain> || std::is_same_v<Format, BrainPair>;
    // A number of 16 bits is used, whatever the value comes from.
    const PassingRule rule =
        is_short<Format> ? PassingRule() : passes<typename Format::Word>(Passing::FLOAT);
    add_operation({"add.", type}, binary<Format, Add>, "t", rule);
    add_operation({"sub.", type}, binary<Format, Subtract>, "t", rule);
    add_operation({"mul.", type},
                  binary<Format, std::conditional_t<brain, MultiplyBrains, Multiply>>, "t", rule);
    using OfShort = std::conditional_t<brain, MultiplyBrainsAdd, MultiplyHalvesAdd>;
    const Operation multiply_add =
        ternary<Format, std::conditional_t<is_short<Format>, OfShort, MultiplyAdd>>;
    add_operation({"fma.", type}, multiply_add, "t", rule);
    add_operation({"mad.", type}, multiply_add);
    add_operation({"neg.", type}, unary<Format, Negative>, "t", rule);
    add_operation({"abs.", type}, unary<Format, Absolute>);
    add_operation({"min.", type}, extreme<Format, true>, "t", rule);
    add_operation({"max.", type}, extreme<Format, false>, "t", rule);
}

const bool registered = [] {
    of_each_format<Single>("f32"), of_each_format<Double>("f64");
    of_each_format<Half>("f16"), of_each_format<HalfPair>("f16x2");
    of_each_format<Brain>("bf16"), of_each_format<BrainPair>("bf16x2");
    add_operation("copysign.f32", copy_sign<Single>),
        add_operation("copysign.f64", copy_sign<Double>);
    return true;
}();

}    // namespace
