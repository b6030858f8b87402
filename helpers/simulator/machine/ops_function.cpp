// ops_function.cpp -- div, rcp, sqrt and rsqrt, exact and approximate; ex2, lg2, sin, cos and tanh
//
// An approximation of PTX has an error bound, and a GPU's tables within it are not known. Here it
// is the nearest float, or what the instructions around the table make of it (a rounded reciprocal
// in div, a cut number of turns in sin).
#include "elementary.h"
#include "floats.h"

namespace {

using std::uint32_t;
using std::uint64_t;

struct Divide {
    template <class T> static HALO_INLINE T of(T a, T b) { return a / b; }
};
struct SquareRoot {
    static HALO_INLINE float of(float a) { return __builtin_sqrtf(a); }
    static HALO_INLINE double of(double a) { return __builtin_sqrt(a); }
};
struct Reciprocal {
    template <class T> static HALO_INLINE T of(T a) { return T(1) / a; }
};

// div.approx is a times the rounded reciprocal of b, whose subnormal results are zero; without .ftz
// a subnormal b counts. div.full scales both so that a large b counts too.
struct DivideApproximately {
    static HALO_INLINE float of(float a, float b) {
        const float scale = __builtin_fabsf(b) < 0x1p-126f ? 0x1p24f : 1.0f;
        return a * scale * flushed(1.0f / (b * scale));
    }
};
struct DivideFully {
    static HALO_INLINE float of(float a, float b) {
        const float size = __builtin_fabsf(b);
        const float scale = size > 0x1p126f ? 0.25f : size < 0x1p-126f ? 0x1p24f : 1.0f;
        return a * scale * (1.0f / (b * scale));
    }
};
struct ReciprocalRoot {
    static HALO_INLINE float of(float a) {
        return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(a)));
    }
    static HALO_INLINE double of(double a) { return 1.0 / __builtin_sqrt(a); }
};
struct Exponential {
    static HALO_INLINE float of(float a) { return static_cast<float>(elementary::exp2(a)); }
};
struct Logarithm {
    static HALO_INLINE float of(float a) { return static_cast<float>(elementary::log2(a)); }
};
// A GPU multiplies by 1 / (2 pi), rounded towards zero, and takes the sine of so many turns.
template <uint64_t quarters> struct Sine {
    static HALO_INLINE float of(float a) {
        const double product = static_cast<double>(a) * 0x1.45f306p-3;    // exact: 48 digits
        const double turns =
            bits_of<double>(bits_of<uint64_t>(product) & ~((uint64_t(1) << 29) - 1));
        return static_cast<float>(elementary::sine_of_turns(turns, quarters));
    }
};
struct HyperbolicTangent {
    static HALO_INLINE float of(float a) { return static_cast<float>(elementary::tanh(a)); }
};

void divide(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & APPROXIMATE) return binary<Single, DivideApproximately>(w, i, lanes);
    if (i.flags & FULL_RANGE) return binary<Single, DivideFully>(w, i, lanes);
    binary<Single, Divide>(w, i, lanes);
}
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write the upper 32 bits; subnormal numbers
// are zero.
template <class Op>
HALO_INLINE void of_upper_halves(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint64_t* a = source<uint64_t>(w, i, 1);
    constexpr uint64_t upper = 0xFFFFFFFF00000000u, exponent = 0x7FF0000000000000u,
                       sign = uint64_t(1) << 63;
    all_lanes(result_of<uint64_t>(w, i), lanes, [=](int l) {
        const uint64_t given = a[l] & upper, used = (given & exponent) == 0 ? given & sign : given;
        const double result = Op::of(bits_of<double>(used));
        const uint64_t bits =
            (result == result ? bits_of<uint64_t>(result) : NAN_64 & ~sign) & upper;
        return (bits & exponent) == 0 ? bits & sign : bits;
    });
}
void reciprocal(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & APPROXIMATE) return of_upper_halves<Reciprocal>(w, i, lanes);
    unary<Double, Reciprocal>(w, i, lanes);
}
void reciprocal_root(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & FTZ) return of_upper_halves<ReciprocalRoot>(w, i, lanes);
    unary<Double, ReciprocalRoot>(w, i, lanes);
}

template <class Format> void of_short(const char* type) {
    add_operation("ex2", type, unary<Format, Exponential>);
    add_operation("tanh", type, unary<Format, HyperbolicTangent>);
}
const bool registered = [] {
    add_operation("div.f32", divide);
    add_operation("div.f64", binary<Double, Divide>);
    add_operation("sqrt.f32", unary<Single, SquareRoot>);
    add_operation("sqrt.f64", unary<Double, SquareRoot>);
    add_operation("rcp.f32", unary<Single, Reciprocal>);
    add_operation("rcp.f64", reciprocal);
    add_operation("rsqrt.f32", unary<Single, ReciprocalRoot>);
    add_operation("rsqrt.f64", reciprocal_root);
    add_operation("ex2.f32", unary<Single, Exponential>);
    add_operation("lg2.f32", unary<Single, Logarithm>);
    add_operation("sin.f32", unary<Single, Sine<0>>);
    add_operation("cos.f32", unary<Single, Sine<1>>);
    add_operation("tanh.f32", unary<Single, HyperbolicTangent>);
    of_short<Half>("f16"), of_short<HalfPair>("f16x2"), of_short<Brain>("bf16"),
        of_short<BrainPair>("bf16x2");
    return true;
}();

}    // namespace
