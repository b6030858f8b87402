// ops_function.cpp -- div, rcp, sqrt and rsqrt, exact and approximate; ex2, lg2, sin, cos and tanh
//
// An approximation is what a GPU's special function unit makes, and the instructions that ptxas
// puts around it: without .ftz these bring operands and results into the unit's range and back.
#include "floats.h"
#include "special_functions.h"

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

HALO_INLINE bool subnormal(float a) { return __builtin_fabsf(a) < 0x1p-126f; }

// Without .ftz a subnormal b counts. div.full scales both so that a large b counts too.
struct DivideApproximately {
    static HALO_INLINE float of(float a, float b) {
        const float scale = subnormal(b) ? 0x1p24f : 1.0f;
        return a * scale * special::reciprocal(b * scale);
    }
};
struct DivideFully {
    static HALO_INLINE float of(float a, float b) {
        const float scale = __builtin_fabsf(b) > 0x1p126f ? 0.25f : subnormal(b) ? 0x1p24f : 1.0f;
        return a * scale * special::reciprocal(b * scale);
    }
};

// Each function exists twice: as the unit computes it (with .ftz), and with the instructions that
// ptxas puts around it without .ftz.
struct ReciprocalFlushed {
    static HALO_INLINE float of(float a) { return special::reciprocal(a); }
};
struct ReciprocalApproximately {
    static HALO_INLINE float of(float a) {
        const float scale = __builtin_fabsf(a) > 0x1p126f ? 0.25f : subnormal(a) ? 0x1p24f : 1.0f;
        return scale * special::reciprocal(a * scale);
    }
};
struct ReciprocalRoot {
    static HALO_INLINE float of(float a) {
        const bool small = subnormal(a);
        return special::reciprocal_root(small ? a * 0x1p24f : a) * (small ? 0x1p12f : 1.0f);
    }
    // One step of refinement, from an estimate of 20 digits.
    static HALO_INLINE double of(double a) {
        const bool usual = a >= 0x1p-1022 && a < INFINITY;
        if (!usual && !(a > 0.0 && a < INFINITY)) return 1.0 / __builtin_sqrt(a);
        const double x = usual ? a : a * 0x1p54;
        const uint32_t upper = static_cast<uint32_t>(bits_of<uint64_t>(x) >> 32);
        const double y = bits_of<double>(
            uint64_t(special::reciprocal_root_bits<20, 1023>(upper)) << 32);
        const double rest = fused(x, -(y * y), 1.0);
        const double root = fused(fused(rest, 0.375, 0.5), y * rest, y);
        return usual ? root : root * 0x1p27;
    }
};
struct SquareRootApproximately {
    static HALO_INLINE float of(float a) {
        const bool small = subnormal(a);
        return special::root(small ? a * 0x1p24f : a) * (small ? 0x1p-12f : 1.0f);
    }
};
struct ExponentialFlushed {
    static HALO_INLINE float of(float a) { return special::power_of_two(a); }
};
struct Exponential {
    static HALO_INLINE float of(float a) {
        const bool small = a < -126.0f;
        const float power = special::power_of_two(small ? a * 0.5f : a);
        return small ? power * power : power;
    }
};
struct Logarithm {
    static HALO_INLINE float of(float a) {
        const bool small = subnormal(a);
        return special::logarithm(small ? a * 0x1p24f : a) - (small ? 24.0f : 0.0f);
    }
};
// A GPU multiplies by 1 / (2 pi), rounded towards zero, and takes the sine of so many turns.
template <uint32_t quarters> struct Sine {
    static HALO_INLINE float of(float a) {
        const double product = static_cast<double>(a) * 0x1.45f306p-3;    // exact: 48 digits
        const double turns =
            bits_of<double>(bits_of<uint64_t>(product) & ~((uint64_t(1) << 29) - 1));
        return special::sine_of_turns(static_cast<float>(turns), quarters);
    }
};
struct HyperbolicTangent {
    static HALO_INLINE float of(float a) { return special::tangent(a); }
};

// A function of 16 bits is that of float, cut.
template <class Format, class Op> struct Cut {
    static HALO_INLINE float of(float a) {
        const float result = Op::of(a);
        const uint32_t bits = bits_of<uint32_t>(result);
        if (result != result || std::is_same_v<Format, Brain> || std::is_same_v<Format, BrainPair>)
            return bits_of<float>(bits & 0xFFFF0000u);
        const float small = __builtin_fabsf(result) < 0x1p-14f ? result : 0.0f;
        const float cut = static_cast<float>(static_cast<int>(small * 0x1p24f)) * 0x1p-24f;
        return small != 0.0f ? __builtin_copysignf(cut, result) : bits_of<float>(bits & ~0x1FFFu);
    }
};

void divide(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & APPROXIMATE) return binary<Single, DivideApproximately>(w, i, lanes);
    if (i.flags & FULL_RANGE) return binary<Single, DivideFully>(w, i, lanes);
    binary<Single, Divide>(w, i, lanes);
}
void square_root(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & APPROXIMATE) return unary<Single, SquareRootApproximately>(w, i, lanes);
    unary<Single, SquareRoot>(w, i, lanes);
}
void reciprocal_of_float(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (!(i.flags & APPROXIMATE)) return unary<Single, Reciprocal>(w, i, lanes);
    if (i.flags & FTZ) return unary<Single, ReciprocalFlushed>(w, i, lanes);
    unary<Single, ReciprocalApproximately>(w, i, lanes);
}
void exponential(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & FTZ) return unary<Single, ExponentialFlushed>(w, i, lanes);
    unary<Single, Exponential>(w, i, lanes);
}
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write the upper 32 bits; subnormal numbers
// are zero.
template <uint32_t (*function)(uint32_t)>
void of_upper_halves(Lanes& w, const Instruction& i, uint32_t lanes) {
    const uint64_t* a = source<uint64_t>(w, i, 1);
    all_lanes(result_of<uint64_t>(w, i), lanes, [=](int l) {
        return uint64_t(function(static_cast<uint32_t>(a[l] >> 32))) << 32;
    });
}
void reciprocal(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & APPROXIMATE)
        return of_upper_halves<special::reciprocal_bits<20, 1023>>(w, i, lanes);
    unary<Double, Reciprocal>(w, i, lanes);
}
void reciprocal_root(Lanes& w, const Instruction& i, uint32_t lanes) {
    if (i.flags & FTZ) return of_upper_halves<special::reciprocal_root_bits<20, 1023>>(w, i, lanes);
    unary<Double, ReciprocalRoot>(w, i, lanes);
}

template <class Format> void of_short(const char* type) {
    add_operation({"ex2.", type}, unary<Format, Cut<Format, ExponentialFlushed>>);
    add_operation({"tanh.", type}, unary<Format, Cut<Format, HyperbolicTangent>>);
}
const bool registered = [] {
    add_operation("div.f32", divide);
    add_operation("div.f64", binary<Double, Divide>);
    add_operation("sqrt.f32", square_root);
    add_operation("sqrt.f64", unary<Double, SquareRoot>);
    add_operation("rcp.f32", reciprocal_of_float);
    add_operation("rcp.f64", reciprocal);
    add_operation("rsqrt.f32", unary<Single, ReciprocalRoot>);
    add_operation("rsqrt.f64", reciprocal_root);
    add_operation("ex2.f32", exponential);
    add_operation("lg2.f32", unary<Single, Logarithm>);
    add_operation("sin.f32", unary<Single, Sine<0>>);
    add_operation("cos.f32", unary<Single, Sine<1>>);
    add_operation("tanh.f32", unary<Single, HyperbolicTangent>);
    of_short<Half>("f16"), of_short<HalfPair>("f16x2"), of_short<Brain>("bf16"),
        of_short<BrainPair>("bf16x2");
    return true;
}();

}    // namespace
