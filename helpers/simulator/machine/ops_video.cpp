// ops_video.cpp -- the video instructions: vadd ... vmad, vset of 33-bit numbers; vadd2 ... vset4
// of the parts of a register
//
// One function computes each group, from numbers that say which instruction it is: there are
// hundreds of combinations of types, few are ever used, and speed does not matter. The encoder has
// taken selected parts of the sources (%r1.b0) out before.
#include <algorithm>

#include "loops.h"

namespace {

using std::int32_t;
using std::int64_t;
using std::uint32_t;
__extension__ using Wide = __int128;

enum Action {
    ADD,
    SUBTRACT,
    DIFFERENCE,
    MINIMUM,
    MAXIMUM,
    AVERAGE,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE
};
enum Second { NOTHING, SUM, LEAST, GREATEST };
enum Signs { OF_RESULT = 1, OF_A = 2, OF_B = 4 };    // which types are signed

Wide computed(Action action, Wide a, Wide b) {
    switch (action) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case DIFFERENCE: return a < b ? b - a : a - b;
    case MINIMUM: return std::min(a, b);
    case MAXIMUM: return std::max(a, b);
    case AVERAGE: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
    case SHIFT_LEFT: return a * (Wide(1) << static_cast<int>(b));
    case SHIFT_RIGHT: return a >> static_cast<int>(b);
    case EQ: return a == b;
    case NE: return a != b;
    case LT: return a < b;
    case LE: return a <= b;
    case GT: return a > b;
    default: return a >= b;
    }
}
Wide part_of(uint32_t word, int first, int bits, bool with_sign) {
    const Wide part = word >> first & (~0u >> (32 - bits));
    return with_sign && part >> (bits - 1) ? part - (Wide(1) << bits) : part;
}
Wide clamped(Wide value, int bits, bool with_sign) {
    const Wide low = with_sign ? -(Wide(1) << (bits - 1)) : Wide(0),
               high = low + (Wide(1) << bits) - 1;
    return std::min(std::max(value, low), high);
}

// d, a, b {, c}: the result, then its sum with c, or the lesser or the greater of the two.
void compute(Lanes& w, const Instruction& i, uint32_t lanes, Action action, int signs,
             Second second) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2);
    const uint32_t* c = second == NOTHING ? nullptr : source<uint32_t>(w, i, 3);
    // vset names no type of its result; a second operation takes that of a.
    const bool is_signed = signs & (action < EQ ? OF_RESULT : OF_A);
    const bool shift = action == SHIFT_LEFT || action == SHIFT_RIGHT;
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=, &i](int l) {
        Wide y = part_of(b[l], 0, 32, signs & OF_B);
        if (shift) y = i.flags & WRAP ? y & 31 : std::min(y, Wide(32));
        Wide value = computed(action, part_of(a[l], 0, 32, signs & OF_A), y);
        if (i.flags & SATURATE) value = clamped(value, 32, is_signed);
        value = part_of(static_cast<uint32_t>(value), 0, 32, is_signed);
        if (second != NOTHING) {
            const Wide other = part_of(c[l], 0, 32, is_signed);
            value = second == SUM     ? value + other
                    : second == LEAST ? std::min(value, other)
                                      : std::max(value, other);
        }
        return static_cast<uint32_t>(value);
    });
}
// a b + c {+ 1}, shifted right by 0, 7 or 15.
void multiply_add(Lanes& w, const Instruction& i, uint32_t lanes, int signs, int shift,
                  bool plus_one) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    const bool is_signed = signs & (OF_A | OF_B);
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=, &i](int l) {
        const Wide product =
            part_of(a[l], 0, 32, signs & OF_A) * part_of(b[l], 0, 32, signs & OF_B);
        const Wide value =
            (product + part_of(c[l], 0, 32, is_signed) + (plus_one ? 1 : 0)) >> shift;
        return static_cast<uint32_t>(i.flags & SATURATE ? clamped(value, 32, is_signed) : value);
    });
}
// d, a, b, c: two parts of 16 bits or four of 8; with .add, their sum and c.
void compute_parts(Lanes& w, const Instruction& i, uint32_t lanes, Action action, int signs,
                   int bits, Second second) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=, &i](int l) {
        uint32_t parts = 0, sum = c[l];
        for (int first = 0; first < 32; first += bits) {
            Wide value = computed(action, part_of(a[l], first, bits, signs & OF_A),
                                  part_of(b[l], first, bits, signs & OF_B));
            if (i.flags & SATURATE) value = clamped(value, bits, signs & OF_RESULT);
            parts |= (static_cast<uint32_t>(value) & (~0u >> (32 - bits))) << first;
            sum += static_cast<uint32_t>(value);    // not cut
        }
        return second == SUM ? sum : parts;
    });
}

template <Action action, int signs, Second second>
void video(Lanes& w, const Instruction& i, uint32_t lanes) {
    compute(w, i, lanes, action, signs, second);
}
template <int signs, int shift, bool plus_one>
void video_multiply_add(Lanes& w, const Instruction& i, uint32_t lanes) {
    multiply_add(w, i, lanes, signs, shift, plus_one);
}
template <Action action, int signs, int bits, Second second>
void video_parts(Lanes& w, const Instruction& i, uint32_t lanes) {
    compute_parts(w, i, lanes, action, signs, bits, second);
}

const char* type(int signs, int which) { return signs & which ? ".s32" : ".u32"; }
// NAME.result.a.b{.add, .min, .max}
HALO_NOINLINE void add_with_second(const char* name, const char* result, int signs,
                                   const char* comparison, const Operation (&run)[4]) {
    const char* const ends[4] = {"", ".add", ".min", ".max"};
    for (int k = 0; k < 4; ++k)
        add_operation({name, result, type(signs, OF_A), type(signs, OF_B), comparison, ends[k]},
                      run[k]);
}
template <Action action, int signs>
void of_types(const char* name, const char* result, const char* comparison = "") {
    add_with_second(name, result, signs, comparison,
                    {video<action, signs, NOTHING>, video<action, signs, SUM>,
                     video<action, signs, LEAST>, video<action, signs, GREATEST>});
}
template <Action action> void of_all_types(const char* name) {
    of_types<action, 0>(name, ".u32"), of_types<action, 1>(name, ".s32");
    of_types<action, 2>(name, ".u32"), of_types<action, 3>(name, ".s32");
    of_types<action, 4>(name, ".u32"), of_types<action, 5>(name, ".s32");
    of_types<action, 6>(name, ".u32"), of_types<action, 7>(name, ".s32");
}
template <Action action> void of_shifts(const char* name) {
    of_types<action, 0>(name, ".u32"), of_types<action, 1>(name, ".s32");
    of_types<action, 2>(name, ".u32"), of_types<action, 3>(name, ".s32");
}
template <int signs> void of_multiply_adds() {
    const Operation run[6] = {
        video_multiply_add<signs, 0, false>,  video_multiply_add<signs, 7, false>,
        video_multiply_add<signs, 15, false>, video_multiply_add<signs, 0, true>,
        video_multiply_add<signs, 7, true>,   video_multiply_add<signs, 15, true>};
    const char* const ends[6] = {"", ".shr7", ".shr15", ".po", ".po.shr7", ".po.shr15"};
    for (const char* result : {".u32", ".s32"})
        for (int k = 0; k < 6; ++k)
            add_operation({"vmad", result, type(signs, OF_A), type(signs, OF_B), ends[k]}, run[k]);
}
// NAME{2, 4}.result.a.b{.add}
HALO_NOINLINE void add_parts(const char* name, const char* result, int signs,
                             const char* comparison, const Operation (&run)[4]) {
    const char* const parts[4] = {"2", "2", "4", "4"};
    for (int k = 0; k < 4; ++k)
        add_operation({name, parts[k], result, type(signs, OF_A), type(signs, OF_B), comparison,
                       k % 2 ? ".add" : ""},
                      run[k]);
}
template <Action action, int signs>
void of_parts(const char* name, const char* result, const char* comparison = "") {
    add_parts(name, result, signs, comparison,
              {video_parts<action, signs, 16, NOTHING>, video_parts<action, signs, 16, SUM>,
               video_parts<action, signs, 8, NOTHING>, video_parts<action, signs, 8, SUM>});
}
template <Action action> void of_all_parts(const char* name) {
    of_parts<action, 0>(name, ".u32"), of_parts<action, 1>(name, ".s32");
    of_parts<action, 6>(name, ".u32"), of_parts<action, 7>(name, ".s32");
}
template <Action action, int signs> void of_comparison_types(const char* comparison) {
    of_types<action, signs>("vset", "", comparison);
    if constexpr (signs == 0 || signs == (OF_A | OF_B))
        of_parts<action, signs>("vset", "", comparison);
}
template <Action action> void of_comparison(const char* comparison) {
    of_comparison_types<action, 0>(comparison), of_comparison_types<action, OF_A>(comparison);
    of_comparison_types<action, OF_B>(comparison),
        of_comparison_types<action, OF_A | OF_B>(comparison);
}

const bool registered = [] {
    of_all_types<ADD>("vadd"), of_all_types<SUBTRACT>("vsub"), of_all_types<DIFFERENCE>("vabsdiff");
    of_all_types<MINIMUM>("vmin"), of_all_types<MAXIMUM>("vmax");
    of_shifts<SHIFT_LEFT>("vshl"), of_shifts<SHIFT_RIGHT>("vshr");
    of_multiply_adds<0>(), of_multiply_adds<OF_A>(), of_multiply_adds<OF_B>(),
        of_multiply_adds<OF_A | OF_B>();
    of_all_parts<ADD>("vadd"), of_all_parts<SUBTRACT>("vsub"), of_all_parts<DIFFERENCE>("vabsdiff");
    of_all_parts<MINIMUM>("vmin"), of_all_parts<MAXIMUM>("vmax"), of_all_parts<AVERAGE>("vavrg");
    of_comparison<EQ>(".eq"), of_comparison<NE>(".ne"), of_comparison<LT>(".lt");
    of_comparison<LE>(".le"), of_comparison<GT>(".gt"), of_comparison<GE>(".ge");
    return true;
}();

}    // namespace
