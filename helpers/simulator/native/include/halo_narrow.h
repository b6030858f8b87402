// halo_narrow.h -- a 16-bit floating-point type, its pair, and everything that cuda_fp16.h and cuda_bf16.h have in common
//
// Included once per format, with HALO_TYPE (__half), HALO_PAIR (__half2), HALO_NAME (half, as in __float2half), HALO_RAW, HALO_RAW_PAIR and
// HALO_FORMAT defined. A value is held as its 16 bits; a pair is copied as 4 bytes at once.

#define HALO_JOIN_(first, second, third) first##second##third
#define HALO_JOIN(first, second, third) HALO_JOIN_(first, second, third)
#define HALO_FROM(source, ending) HALO_JOIN(__##source##2, HALO_NAME, ending)    // __float2half_rn
#define HALO_TO(ending) HALO_JOIN(__, HALO_NAME, ending)                         // __half2float

struct HALO_RAW { unsigned short x; };
struct alignas(4) HALO_RAW_PAIR { unsigned short x, y; };

struct HALO_TYPE {
    constexpr HALO_TYPE() : __x() {}    // constexpr, see halo_vectors.h
    HALO_INLINE constexpr HALO_TYPE(const HALO_RAW& raw) : __x(raw.x) {}
    HALO_INLINE HALO_TYPE(float value) : __x(halo::narrowed<HALO_FORMAT>(value, FE_TONEAREST)) {}
    HALO_INLINE HALO_TYPE(double value) : __x(halo::narrowed<HALO_FORMAT>(value, FE_TONEAREST)) {}
#define HALO_INTEGER(kind)                                                                                                              \
    HALO_INLINE HALO_TYPE(kind value) : __x(halo::narrowed<HALO_FORMAT>(halo::integer_to_odd(value), FE_TONEAREST)) {}                  \
    HALO_INLINE operator kind() const { return halo::to_integer<kind>(halo::widened<HALO_FORMAT>(__x), FE_TOWARDZERO); }
    HALO_INTEGER(short)
    HALO_INTEGER(unsigned short)
    HALO_INTEGER(int)
    HALO_INTEGER(unsigned)
    HALO_INTEGER(long)
    HALO_INTEGER(unsigned long)
    HALO_INTEGER(long long)
    HALO_INTEGER(unsigned long long)
#undef HALO_INTEGER
    HALO_INLINE operator char() const { return halo::to_integer<char>(halo::widened<HALO_FORMAT>(__x), FE_TOWARDZERO); }
    HALO_INLINE operator signed char() const { return halo::to_integer<signed char>(halo::widened<HALO_FORMAT>(__x), FE_TOWARDZERO); }
    HALO_INLINE operator unsigned char() const { return halo::to_integer<unsigned char>(halo::widened<HALO_FORMAT>(__x), FE_TOWARDZERO); }
    HALO_INLINE operator bool() const { return (__x & 0x7FFF) != 0; }
    HALO_INLINE operator float() const { return halo::widened<HALO_FORMAT>(__x); }
    HALO_INLINE operator HALO_RAW() const { return HALO_RAW{__x}; }

protected:
    unsigned short __x;
};

struct alignas(4) HALO_PAIR {
    HALO_TYPE x, y;
    constexpr HALO_PAIR() : x(), y() {}
    HALO_INLINE constexpr HALO_PAIR(const HALO_TYPE& low, const HALO_TYPE& high) : x(low), y(high) {}
    HALO_INLINE HALO_PAIR(const HALO_RAW_PAIR& raw) : x(HALO_RAW{raw.x}), y(HALO_RAW{raw.y}) {}
    HALO_INLINE HALO_PAIR(const HALO_PAIR& other) { halo::copy(this, &other); }
    HALO_INLINE HALO_PAIR& operator=(const HALO_PAIR& other) { halo::copy(this, &other); return *this; }
    HALO_INLINE operator HALO_RAW_PAIR() const {
        HALO_PAIR copied(*this);
        return HALO_RAW_PAIR{HALO_RAW(copied.x).x, HALO_RAW(copied.y).x};
    }
};

namespace halo {
template <> constexpr bool is_floating<HALO_TYPE> = true;
HALO_INLINE std::uint16_t narrow_bits(HALO_TYPE value) { return HALO_RAW(value).x; }
HALO_INLINE double narrow_value(HALO_TYPE value) { return widened<HALO_FORMAT>(narrow_bits(value)); }
HALO_INLINE HALO_TYPE from_narrow_bits(HALO_FORMAT, std::uint16_t pattern) { return HALO_TYPE(HALO_RAW{pattern}); }
HALO_INLINE HALO_TYPE round_narrow(HALO_FORMAT format, double value) { return from_narrow_bits(format, narrowed<HALO_FORMAT>(value, FE_TONEAREST)); }
HALO_INLINE HALO_TYPE saturate_narrow(HALO_TYPE value) { return from_narrow_bits(HALO_FORMAT{}, narrow_saturated<HALO_FORMAT>(narrow_bits(value))); }
HALO_INLINE HALO_TYPE rectify_narrow(HALO_TYPE value) { return from_narrow_bits(HALO_FORMAT{}, narrow_rectified<HALO_FORMAT>(narrow_bits(value))); }
}    // namespace halo

// ---- conversions ----

#define HALO_CONVERSION(ending, mode)                                                                                                         \
    HALO_INLINE HALO_TYPE HALO_FROM(float, ending)(float value) { return HALO_TYPE(HALO_RAW{halo::narrowed<HALO_FORMAT>(value, mode)}); }     \
    HALO_INTEGER(int, int, ending, mode)                                                                                                      \
    HALO_INTEGER(uint, unsigned, ending, mode)                                                                                                \
    HALO_INTEGER(short, short, ending, mode)                                                                                                  \
    HALO_INTEGER(ushort, unsigned short, ending, mode)                                                                                        \
    HALO_INTEGER(ll, long long, ending, mode)                                                                                                 \
    HALO_INTEGER(ull, unsigned long long, ending, mode)
#define HALO_INTEGER(word, kind, ending, mode)                                                                                                \
    HALO_INLINE HALO_TYPE HALO_FROM(word, ending)(kind value) {                                                                               \
        return HALO_TYPE(HALO_RAW{halo::narrowed<HALO_FORMAT>(halo::integer_to_odd(value), mode)});                                           \
    }                                                                                                                                         \
    HALO_INLINE kind HALO_TO(2##word##ending)(HALO_TYPE value) { return halo::to_integer<kind>(static_cast<float>(value), mode); }
HALO_CONVERSION(_rn, FE_TONEAREST)
HALO_CONVERSION(_rz, FE_TOWARDZERO)
HALO_CONVERSION(_ru, FE_UPWARD)
HALO_CONVERSION(_rd, FE_DOWNWARD)
#undef HALO_CONVERSION
#undef HALO_INTEGER
HALO_INLINE signed char HALO_TO(2char_rz)(HALO_TYPE value) { return value; }
HALO_INLINE unsigned char HALO_TO(2uchar_rz)(HALO_TYPE value) { return value; }
HALO_INLINE HALO_TYPE HALO_FROM(float, )(float value) { return HALO_TYPE(value); }
HALO_INLINE HALO_TYPE HALO_FROM(double, )(double value) { return HALO_TYPE(value); }
HALO_INLINE float HALO_TO(2float)(HALO_TYPE value) { return value; }
HALO_INLINE unsigned short HALO_TO(_as_ushort)(HALO_TYPE value) { return halo::narrow_bits(value); }
HALO_INLINE short HALO_TO(_as_short)(HALO_TYPE value) { return static_cast<short>(halo::narrow_bits(value)); }
HALO_INLINE HALO_TYPE HALO_JOIN(__ushort_as_, HALO_NAME, )(unsigned short pattern) { return HALO_TYPE(HALO_RAW{pattern}); }
HALO_INLINE HALO_TYPE HALO_JOIN(__short_as_, HALO_NAME, )(short pattern) { return HALO_TYPE(HALO_RAW{static_cast<unsigned short>(pattern)}); }

// ---- pairs: made and taken apart ----

HALO_INLINE HALO_PAIR HALO_FROM(halves, 2)(HALO_TYPE low, HALO_TYPE high) { return HALO_PAIR(low, high); }
HALO_INLINE HALO_PAIR HALO_JOIN(make_, HALO_NAME, 2)(HALO_TYPE low, HALO_TYPE high) { return HALO_PAIR(low, high); }
HALO_INLINE HALO_PAIR HALO_FROM(floats, 2_rn)(float low, float high) { return HALO_PAIR(HALO_TYPE(low), HALO_TYPE(high)); }
HALO_INLINE HALO_PAIR HALO_FROM(float, 2_rn)(float value) { return HALO_PAIR(HALO_TYPE(value), HALO_TYPE(value)); }
HALO_INLINE HALO_PAIR HALO_FROM(float2, 2_rn)(float2 value) { return HALO_PAIR(HALO_TYPE(value.x), HALO_TYPE(value.y)); }
HALO_INLINE float2 HALO_TO(22float2)(HALO_PAIR pair) { return float2(pair.x, pair.y); }
HALO_INLINE float __low2float(HALO_PAIR pair) { return pair.x; }
HALO_INLINE float __high2float(HALO_PAIR pair) { return pair.y; }
HALO_INLINE HALO_TYPE HALO_FROM(low, )(HALO_PAIR pair) { return pair.x; }
HALO_INLINE HALO_TYPE HALO_FROM(high, )(HALO_PAIR pair) { return pair.y; }
HALO_INLINE HALO_PAIR HALO_FROM(low, 2)(HALO_PAIR pair) { return HALO_PAIR(pair.x, pair.x); }
HALO_INLINE HALO_PAIR HALO_FROM(high, 2)(HALO_PAIR pair) { return HALO_PAIR(pair.y, pair.y); }
HALO_INLINE HALO_PAIR HALO_FROM(lows, 2)(HALO_PAIR first, HALO_PAIR second) { return HALO_PAIR(first.x, second.x); }
HALO_INLINE HALO_PAIR HALO_FROM(highs, 2)(HALO_PAIR first, HALO_PAIR second) { return HALO_PAIR(first.y, second.y); }
HALO_INLINE HALO_PAIR __lowhigh2highlow(HALO_PAIR pair) { return HALO_PAIR(pair.y, pair.x); }

// ---- arithmetic ----

// A function of one, two or three values, and the same for pairs, element by element.
#define HALO_UNARY(function, pair_function, result)                                                                                           \
    HALO_INLINE HALO_TYPE function(HALO_TYPE left) { return result; }                                                                         \
    HALO_INLINE HALO_PAIR pair_function(HALO_PAIR left) { return HALO_PAIR(function(left.x), function(left.y)); }
#define HALO_BINARY(function, pair_function, result)                                                                                          \
    HALO_INLINE HALO_TYPE function(HALO_TYPE left, HALO_TYPE right) { return result; }                                                        \
    HALO_INLINE HALO_PAIR pair_function(HALO_PAIR left, HALO_PAIR right) { return HALO_PAIR(function(left.x, right.x), function(left.y, right.y)); }
#define HALO_TERNARY(function, pair_function, result)                                                                                         \
    HALO_INLINE HALO_TYPE function(HALO_TYPE left, HALO_TYPE right, HALO_TYPE third) { return result; }                                       \
    HALO_INLINE HALO_PAIR pair_function(HALO_PAIR left, HALO_PAIR right, HALO_PAIR third) {                                                   \
        return HALO_PAIR(function(left.x, right.x, third.x), function(left.y, right.y, third.y));                                             \
    }
#define HALO_ROUND(value) halo::round_narrow(HALO_FORMAT{}, value)
#define HALO_VALUE(of) halo::narrow_value(of)
#define HALO_EXTREME(largest, nan_wins)                                                                                                       \
    halo::from_narrow_bits(HALO_FORMAT{}, halo::narrow_extreme<HALO_FORMAT>(halo::narrow_bits(left), halo::narrow_bits(right), largest, nan_wins))

HALO_UNARY(__habs, __habs2, halo::from_narrow_bits(HALO_FORMAT{}, halo::narrow_bits(left) & 0x7FFF))
HALO_UNARY(__hneg, __hneg2, halo::from_narrow_bits(HALO_FORMAT{}, halo::narrow_bits(left) ^ 0x8000))
HALO_BINARY(__hadd, __hadd2, HALO_ROUND(halo::sum_to_odd(HALO_VALUE(left), HALO_VALUE(right))))
HALO_BINARY(__hsub, __hsub2, HALO_ROUND(halo::sum_to_odd(HALO_VALUE(left), -HALO_VALUE(right))))
HALO_BINARY(__hmul, __hmul2, HALO_ROUND(HALO_VALUE(left) * HALO_VALUE(right)))
HALO_BINARY(__hdiv, __h2div, HALO_ROUND(HALO_VALUE(left) / HALO_VALUE(right)))
HALO_TERNARY(__hfma, __hfma2, HALO_ROUND(halo::sum_to_odd(HALO_VALUE(left) * HALO_VALUE(right), HALO_VALUE(third))))
HALO_BINARY(__hadd_rn, __hadd2_rn, __hadd(left, right))
HALO_BINARY(__hsub_rn, __hsub2_rn, __hsub(left, right))
HALO_BINARY(__hmul_rn, __hmul2_rn, __hmul(left, right))
HALO_BINARY(__hadd_sat, __hadd2_sat, halo::saturate_narrow(__hadd(left, right)))
HALO_BINARY(__hsub_sat, __hsub2_sat, halo::saturate_narrow(__hsub(left, right)))
HALO_BINARY(__hmul_sat, __hmul2_sat, halo::saturate_narrow(__hmul(left, right)))
HALO_TERNARY(__hfma_sat, __hfma2_sat, halo::saturate_narrow(__hfma(left, right, third)))
HALO_TERNARY(__hfma_relu, __hfma2_relu, halo::rectify_narrow(__hfma(left, right, third)))
HALO_BINARY(__hmin, __hmin2, HALO_EXTREME(false, false))
HALO_BINARY(__hmax, __hmax2, HALO_EXTREME(true, false))
HALO_BINARY(__hmin_nan, __hmin2_nan, HALO_EXTREME(false, true))
HALO_BINARY(__hmax_nan, __hmax2_nan, HALO_EXTREME(true, true))
// Complex a * b + c, in the order that the CUDA Math API gives.
HALO_INLINE HALO_PAIR __hcmadd(HALO_PAIR left, HALO_PAIR right, HALO_PAIR third) {
    HALO_TYPE real = __hfma(left.x, right.x, third.x), imaginary = __hfma(left.x, right.y, third.y);
    return HALO_PAIR(__hfma(__hneg(left.y), right.y, real), __hfma(left.y, right.x, imaginary));
}

// ---- functions: in double, then rounded once ----

HALO_UNARY(hsqrt, h2sqrt, HALO_ROUND(__builtin_sqrt(HALO_VALUE(left))))
HALO_UNARY(hrsqrt, h2rsqrt, HALO_ROUND(1.0 / __builtin_sqrt(HALO_VALUE(left))))
HALO_UNARY(hrcp, h2rcp, HALO_ROUND(1.0 / HALO_VALUE(left)))
HALO_UNARY(hexp, h2exp, HALO_ROUND(__builtin_exp(HALO_VALUE(left))))
HALO_UNARY(hexp2, h2exp2, HALO_ROUND(__builtin_exp2(HALO_VALUE(left))))
HALO_UNARY(hexp10, h2exp10, HALO_ROUND(__builtin_pow(10.0, HALO_VALUE(left))))
HALO_UNARY(hlog, h2log, HALO_ROUND(__builtin_log(HALO_VALUE(left))))
HALO_UNARY(hlog2, h2log2, HALO_ROUND(__builtin_log2(HALO_VALUE(left))))
HALO_UNARY(hlog10, h2log10, HALO_ROUND(__builtin_log10(HALO_VALUE(left))))
HALO_UNARY(hsin, h2sin, HALO_ROUND(__builtin_sin(HALO_VALUE(left))))
HALO_UNARY(hcos, h2cos, HALO_ROUND(__builtin_cos(HALO_VALUE(left))))
HALO_UNARY(htanh, h2tanh, HALO_ROUND(__builtin_tanh(HALO_VALUE(left))))
HALO_UNARY(htanh_approx, h2tanh_approx, htanh(left))
HALO_UNARY(hceil, h2ceil, HALO_ROUND(__builtin_ceil(HALO_VALUE(left))))
HALO_UNARY(hfloor, h2floor, HALO_ROUND(__builtin_floor(HALO_VALUE(left))))
HALO_UNARY(htrunc, h2trunc, HALO_ROUND(__builtin_trunc(HALO_VALUE(left))))
HALO_UNARY(hrint, h2rint, HALO_ROUND(__builtin_rint(HALO_VALUE(left))))

// ---- comparison: a NaN makes the ordered forms false and those with a u true ----

#define HALO_COMPARISON(word, result)                                                                                                         \
    HALO_INLINE bool __h##word(HALO_TYPE left_, HALO_TYPE right_) {                                                                           \
        float left = left_, right = right_;                                                                                                   \
        return result;                                                                                                                        \
    }                                                                                                                                         \
    HALO_INLINE HALO_PAIR __h##word##2(HALO_PAIR left, HALO_PAIR right) {                                                                     \
        return HALO_PAIR(HALO_TYPE(float(__h##word(left.x, right.x))), HALO_TYPE(float(__h##word(left.y, right.y))));                         \
    }                                                                                                                                         \
    HALO_INLINE unsigned __h##word##2_mask(HALO_PAIR left, HALO_PAIR right) {                                                                 \
        return unsigned(__h##word(left.x, right.x)) * 0xFFFFu | unsigned(__h##word(left.y, right.y)) * 0xFFFF0000u;                           \
    }                                                                                                                                         \
    HALO_INLINE bool __hb##word##2(HALO_PAIR left, HALO_PAIR right) { return __h##word(left.x, right.x) & __h##word(left.y, right.y); }
HALO_COMPARISON(eq, left == right)
HALO_COMPARISON(ne, (left < right) | (left > right))
HALO_COMPARISON(lt, left < right)
HALO_COMPARISON(le, left <= right)
HALO_COMPARISON(gt, left > right)
HALO_COMPARISON(ge, left >= right)
HALO_COMPARISON(equ, !((left < right) | (left > right)))
HALO_COMPARISON(neu, left != right)
HALO_COMPARISON(ltu, !(left >= right))
HALO_COMPARISON(leu, !(left > right))
HALO_COMPARISON(gtu, !(left <= right))
HALO_COMPARISON(geu, !(left < right))
#undef HALO_COMPARISON
HALO_INLINE bool __hisnan(HALO_TYPE value) { return (halo::narrow_bits(value) & 0x7FFF) > HALO_FORMAT::infinity; }
HALO_INLINE HALO_PAIR __hisnan2(HALO_PAIR pair) { return HALO_PAIR(HALO_TYPE(float(__hisnan(pair.x))), HALO_TYPE(float(__hisnan(pair.y)))); }
// 1 for infinity, -1 for minus infinity, else 0.
HALO_INLINE int __hisinf(HALO_TYPE value) {
    return ((halo::narrow_bits(value) & 0x7FFF) == HALO_FORMAT::infinity) * (1 - 2 * (halo::narrow_bits(value) >> 15));
}

// ---- operators ----

#define HALO_OPERATORS(kind, add, subtract, multiply, divide, negate)                                                                         \
    HALO_INLINE kind operator+(const kind& left, const kind& right) { return add(left, right); }                                              \
    HALO_INLINE kind operator-(const kind& left, const kind& right) { return subtract(left, right); }                                         \
    HALO_INLINE kind operator*(const kind& left, const kind& right) { return multiply(left, right); }                                         \
    HALO_INLINE kind operator/(const kind& left, const kind& right) { return divide(left, right); }                                           \
    HALO_INLINE kind& operator+=(kind& left, const kind& right) { return left = add(left, right); }                                           \
    HALO_INLINE kind& operator-=(kind& left, const kind& right) { return left = subtract(left, right); }                                      \
    HALO_INLINE kind& operator*=(kind& left, const kind& right) { return left = multiply(left, right); }                                      \
    HALO_INLINE kind& operator/=(kind& left, const kind& right) { return left = divide(left, right); }                                        \
    HALO_INLINE kind operator+(const kind& value) { return value; }                                                                           \
    HALO_INLINE kind operator-(const kind& value) { return negate(value); }
#define HALO_RELATIONS(kind, prefix, ending)                                                                                                  \
    HALO_INLINE bool operator==(const kind& left, const kind& right) { return prefix##eq##ending(left, right); }                              \
    HALO_INLINE bool operator!=(const kind& left, const kind& right) { return prefix##neu##ending(left, right); }                             \
    HALO_INLINE bool operator<(const kind& left, const kind& right) { return prefix##lt##ending(left, right); }                               \
    HALO_INLINE bool operator<=(const kind& left, const kind& right) { return prefix##le##ending(left, right); }                              \
    HALO_INLINE bool operator>(const kind& left, const kind& right) { return prefix##gt##ending(left, right); }                               \
    HALO_INLINE bool operator>=(const kind& left, const kind& right) { return prefix##ge##ending(left, right); }
HALO_OPERATORS(HALO_TYPE, __hadd, __hsub, __hmul, __hdiv, __hneg)
HALO_OPERATORS(HALO_PAIR, __hadd2, __hsub2, __hmul2, __h2div, __hneg2)
HALO_RELATIONS(HALO_TYPE, __h, )
HALO_RELATIONS(HALO_PAIR, __hb, 2)
HALO_INLINE HALO_TYPE& operator++(HALO_TYPE& value) { return value = __hadd(value, HALO_TYPE(1.0f)); }
HALO_INLINE HALO_TYPE& operator--(HALO_TYPE& value) { return value = __hsub(value, HALO_TYPE(1.0f)); }
HALO_INLINE HALO_TYPE operator++(HALO_TYPE& value, int) {
    HALO_TYPE before = value;
    value = __hadd(before, HALO_TYPE(1.0f));
    return before;
}
HALO_INLINE HALO_TYPE operator--(HALO_TYPE& value, int) {
    HALO_TYPE before = value;
    value = __hsub(before, HALO_TYPE(1.0f));
    return before;
}

// ---- atomic addition: each half of a pair on its own ----

#define HALO_ATOMIC_SUM(function)                                                                                                                 \
    HALO_INLINE HALO_TYPE function(HALO_TYPE* address, HALO_TYPE value) {                                                                     \
        return halo::from_word<HALO_TYPE>(halo_atomic_update(address, 2, halo::to_word(value), halo::narrow_sums<HALO_FORMAT, 1>));           \
    }                                                                                                                                         \
    HALO_INLINE HALO_PAIR function(HALO_PAIR* address, HALO_PAIR value) {                                                                     \
        return halo::from_word<HALO_PAIR>(halo_atomic_update(address, 4, halo::to_word(value), halo::narrow_sums<HALO_FORMAT, 2>));           \
    }
HALO_ATOMIC_SUM(atomicAdd)
HALO_ATOMIC_SUM(atomicAdd_block)
HALO_ATOMIC_SUM(atomicAdd_system)

#undef HALO_ATOMIC_SUM
#undef HALO_OPERATORS
#undef HALO_RELATIONS
#undef HALO_UNARY
#undef HALO_BINARY
#undef HALO_TERNARY
#undef HALO_ROUND
#undef HALO_VALUE
#undef HALO_EXTREME
#undef HALO_FROM
#undef HALO_TO
#undef HALO_JOIN
#undef HALO_JOIN_
#undef HALO_TYPE
#undef HALO_PAIR
#undef HALO_RAW
#undef HALO_RAW_PAIR
#undef HALO_NAME
#undef HALO_FORMAT
