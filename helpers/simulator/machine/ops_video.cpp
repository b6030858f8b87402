// ops_video.cpp -- the video instructions, of registers and of their parts: vadd ... vset4
//
// One function computes them all, from numbers that say which instruction it is: there are hundreds
// of combinations of types, few are ever used, and speed does not matter.
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
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE
};
enum Signs { OF_RESULT = 1, OF_A = 2, OF_B = 4 };    // which types are signed

Wide computed(Action action, Wide a, Wide b) {
    switch (action) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case DIFFERENCE: return a < b ? b - a : a - b;
    case MINIMUM: return std::min(a, b);
    case MAXIMUM: return std::max(a, b);
    case AVERAGE: return (a + b + (a + b >= 0 ? 1 : 0)) >> 1;
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

// d, a, b, c: two parts of 16 bits or four of 8; with .add, their sum and c.
void compute_parts(Lanes& w, const Instruction& i, uint32_t lanes, Action action, int signs,
                   int bits, bool adds) {
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
        return adds ? sum : parts;
    });
}

template <Action action, int signs, int bits, bool adds>
void video_parts(Lanes& w, const Instruction& i, uint32_t lanes) {
    compute_parts(w, i, lanes, action, signs, bits, adds);
}

// d, a, b, c: of whole registers; `second` combines the exact result with c, of d's type.
void compute_whole(Lanes& w, const Instruction& i, uint32_t lanes, Action action, int signs,
                   const Action* second) {
    const uint32_t *a = source<uint32_t>(w, i, 1), *b = source<uint32_t>(w, i, 2),
                   *c = source<uint32_t>(w, i, 3);
    lane_by_lane(result_of<uint32_t>(w, i), lanes, [=, &i](int l) {
        Wide value = computed(action, part_of(a[l], 0, 32, signs & OF_A),
                              part_of(b[l], 0, 32, signs & OF_B));
        if (i.flags & SATURATE) value = clamped(value, 32, signs & OF_RESULT);
        if (second != nullptr)
            value = computed(*second, value, part_of(c[l], 0, 32, signs & OF_RESULT));
        return static_cast<uint32_t>(value);
    });
}
constexpr Action seconds[] = {ADD, MINIMUM, MAXIMUM};
template <Action action, int signs, int second>
void video_whole(Lanes& w, const Instruction& i, uint32_t lanes) {
    compute_whole(w, i, lanes, action, signs, second < 0 ? nullptr : &seconds[second]);
}

const char* type(int signs, int which) { return signs & which ? ".s32" : ".u32"; }
// NAME{2, 4}.result.a.b{.add}
HALO_NOINLINE void add_parts(const char* name, const char* result, int signs,
                             const char* comparison, const Operation (&run)[4]) {
    const char* const parts[4] = {"2", "2", "4", "4"};
    for (int k = 0; k < 4; ++k)
        add_operation({name, parts[k], result, type(signs, OF_A), type(signs, OF_B), comparison,
                       k % 2 ? ".add" : ""},
                      run[k], "u");
}
template <Action action, int signs>
void of_parts(const char* name, const char* result, const char* comparison = "") {
    add_parts(name, result, signs, comparison,
              {video_parts<action, signs, 16, false>, video_parts<action, signs, 16, true>,
               video_parts<action, signs, 8, false>, video_parts<action, signs, 8, true>});
}
// NAME.result.a.b{.add, .min, .max}, vset.a.b.comparison{.add, .min, .max}
template <Action action, int signs> void of_whole(const char* name, const char* comparison) {
    const char* const result = *comparison ? "" : type(signs, OF_RESULT);
    const char* const names[] = {"", ".add", ".min", ".max"};
    const Operation run[] = {video_whole<action, signs, -1>, video_whole<action, signs, 0>,
                             video_whole<action, signs, 1>, video_whole<action, signs, 2>};
    for (int k = 0; k < 4; ++k)
        add_operation({name, result, type(signs, OF_A), type(signs, OF_B), comparison, names[k]},
                      run[k], "u");
}
template <Action action, int... signs>
void of_wholes(const char* name, const char* comparison = "") {
    (of_whole<action, signs>(name, comparison), ...);
}
template <Action action> void of_all_parts(const char* name) {
    of_parts<action, 0>(name, ".u32"), of_parts<action, 1>(name, ".s32");
    of_parts<action, 6>(name, ".u32"), of_parts<action, 7>(name, ".s32");
    if constexpr (action != AVERAGE) of_wholes<action, 0, 1, 2, 3, 4, 5, 6, 7>(name);
}
template <Action action> void of_comparison(const char* comparison) {
    of_parts<action, 0>("vset", "", comparison);
    of_parts<action, OF_A | OF_B>("vset", "", comparison);
    of_wholes<action, 0, OF_A, OF_B, OF_A | OF_B>("vset", comparison);
}

const bool registered = [] {
    of_all_parts<ADD>("vadd"), of_all_parts<SUBTRACT>("vsub"), of_all_parts<DIFFERENCE>("vabsdiff");
    of_all_parts<MINIMUM>("vmin"), of_all_parts<MAXIMUM>("vmax"), of_all_parts<AVERAGE>("vavrg");
    of_comparison<EQ>(".eq"), of_comparison<NE>(".ne"), of_comparison<LT>(".lt");
    of_comparison<LE>(".le"), of_comparison<GT>(".gt"), of_comparison<GE>(".ge");
    return true;
}();

}    // namespace
