// ops_compare.cpp -- comparisons and choices: setp, set, selp, slct, testp
#include <type_traits>

#include "floats.h"

namespace {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

enum class Comparison { EQ, NE, LT, LE, GT, GE, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NOT_A_NUMBER };

template <Comparison c, class T> HALO_INLINE bool holds(T a, T b) {
    switch (c) {
        case Comparison::EQ: return a == b;
        case Comparison::NE: return std::is_floating_point_v<T> ? (a < b) | (a > b) : a != b;
        case Comparison::LT: return a < b;
        case Comparison::LE: return a <= b;
        case Comparison::GT: return a > b;
        case Comparison::GE: return a >= b;
        case Comparison::EQU: return !((a < b) | (a > b));
        case Comparison::NEU: return !(a == b);
        case Comparison::LTU: return !(a >= b);
        case Comparison::LEU: return !(a > b);
        case Comparison::GTU: return !(a <= b);
        case Comparison::GEU: return !(a < b);
        case Comparison::NUM: return (a == a) & (b == b);
        default: return (a != a) | (b != b);
    }
}

// How the slots of a type are read: integers as they are, floating-point numbers through their format.
template <class T> struct Integer {
    using Value = T;
    static constexpr int count = WARP_SIZE;
};
template <class T> struct Read {
    const T* values;
    Read(const Lanes& w, const Instruction& i, int k) : values(w.at<const T>(i.operand[k])) {}
    const T* get() const { return values; }
};
template <class Format> struct Reader { using type = Values<Format>; };
template <class T> struct Reader<Integer<T>> { using type = Read<T>; };

// Which lanes the comparison holds in: of pairs, all the lower halves and then all the upper ones.
struct Outcome { uint32_t low, high; };
template <class Format, Comparison c>
HALO_NOINLINE Outcome compared(const Lanes& w, const Instruction& i, int k) {
    const typename Reader<Format>::type first(w, i, k), second(w, i, k + 1);
    const auto *a = first.get(), *b = second.get();
    if constexpr (Format::count == 2 * WARP_SIZE) {
        return {bits_where([=](int l) { return holds<c>(a[2 * l], b[2 * l]); }),
                bits_where([=](int l) { return holds<c>(a[2 * l + 1], b[2 * l + 1]); })};
    } else {
        return {bits_where([=](int l) { return holds<c>(a[l], b[l]); }), 0};
    }
}

// What only depends on the outcome is not compiled once a comparison.
enum class Join { NONE, AND, OR, XOR };
uint32_t joined(Join join, uint32_t bits, uint32_t given) {
    return join == Join::AND ? bits & given : join == Join::OR ? bits | given : join == Join::XOR ? bits ^ given : bits;
}
// p|q, a, b, c: p is the comparison joined with c, q its opposite joined with c; of pairs, p is the lower half's, q the upper's.
HALO_NOINLINE void put_predicates(Lanes& w, const Instruction& i, uint32_t lanes, uint32_t p, uint32_t q, Join join) {
    const int with_join = join != Join::NONE, both = i.count == 4 + with_join;
    const uint32_t given = with_join ? w.predicate(i.operand[3 + both]) : 0;
    if (i.operand[0] != -1) keep_predicate(w.predicate(i.operand[0]), joined(join, p, given), lanes);
    if (both && i.operand[1] != -1) keep_predicate(w.predicate(i.operand[1]), joined(join, q, given), lanes);
}
template <class Format, Comparison c, Join join> void set_predicate(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Outcome outcome = compared<Format, c>(w, i, i.count == 4 + (join != Join::NONE) ? 2 : 1);
    put_predicates(w, i, lanes, outcome.low, Format::count == 2 * WARP_SIZE ? outcome.high : ~outcome.low, join);
}

// The same as a value: all ones or zero, 1.0 or 0.0, in each half where there are two.
struct Yes { uint32_t low, high; };
template <class Word> HALO_NOINLINE void put_value(Lanes& w, const Instruction& i, uint32_t lanes, Outcome outcome, Join join, Yes yes) {
    const uint32_t given = join != Join::NONE ? w.predicate(i.operand[3]) : 0;
    const uint32_t low = joined(join, outcome.low, given), high = joined(join, outcome.high, given);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) {
        return static_cast<Word>((low >> l & 1 ? yes.low : 0) | (high >> l & 1 ? yes.high : 0));
    });
}
template <class Format, Comparison c, Join join, class Word, uint32_t yes> void set_value(Lanes& w, const Instruction& i, uint32_t lanes) {
    put_value<Word>(w, i, lanes, compared<Format, c>(w, i, 1), join, {yes, Format::count == 2 * WARP_SIZE ? yes << 16 : 0});
}

template <class Word> void select(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const uint32_t which = w.predicate(i.operand[3]);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return which >> l & 1 ? a[l] : b[l]; });
}
template <class Word> void select_by_sign(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const std::int32_t* c = source<std::int32_t>(w, i, 3);
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return c[l] >= 0 ? a[l] : b[l]; });
}
// -0 is not negative, a NaN is neither.
template <class Word> void select_by_float(Lanes& w, const Instruction& i, uint32_t lanes) {
    const Word *a = source<Word>(w, i, 1), *b = source<Word>(w, i, 2);
    const Values<Single> third(w, i, 3);
    const float* c = third.get();
    all_lanes(result_of<Word>(w, i), lanes, [=](int l) { return c[l] >= 0.0f ? a[l] : b[l]; });
}

enum class Class { FINITE, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };
template <class Word, int digits, Class wanted> void test(Lanes& w, const Instruction& i, uint32_t lanes) {
    constexpr Word infinity = (~Word(0) >> 1) >> digits << digits, smallest = Word(1) << digits;
    const Word* a = source<Word>(w, i, 1);
    const uint32_t bits = bits_where([=](int l) {
        const Word size = a[l] & (~Word(0) >> 1);
        switch (wanted) {
            case Class::FINITE: return size < infinity;
            case Class::INFINITE: return size == infinity;
            case Class::NUMBER: return size <= infinity;
            case Class::NOT_A_NUMBER: return size > infinity;
            case Class::NORMAL: return size >= smallest && size < infinity;
            default: return size != 0 && size < smallest;
        }
    });
    keep_predicate(w.predicate(i.operand[0]), bits, lanes);
}

// NAME.comparison{.and, .or, .xor}.types
HALO_NOINLINE void add_joined(const char* name, const char* comparison, const std::string& types, const Operation (&run)[4]) {
    const std::string start = std::string(name) + "." + comparison;
    const char* const joins[4] = {".", ".and.", ".or.", ".xor."};
    for (int k = 0; k < 4; ++k) operations().push_back({start + joins[k] + types, run[k]});
}
template <class Format, Comparison c> void setp(const char* name, const char* type) {
    add_joined("setp", name, type, {set_predicate<Format, c, Join::NONE>, set_predicate<Format, c, Join::AND>,
                                    set_predicate<Format, c, Join::OR>, set_predicate<Format, c, Join::XOR>});
}
template <class Format, Comparison c, class Word, uint32_t yes> void set_as(const char* name, const std::string& types) {
    add_joined("set", name, types, {set_value<Format, c, Join::NONE, Word, yes>, set_value<Format, c, Join::AND, Word, yes>,
                                    set_value<Format, c, Join::OR, Word, yes>, set_value<Format, c, Join::XOR, Word, yes>});
}
HALO_NOINLINE std::string two(const char* first, const char* second) { return std::string(first) + "." + second; }
// Results of 32 bits (s32 is as u32, all ones), of 16-bit formats also of 16 bits, of pairs one half each.
template <class Format, Comparison c> void set(const char* name, const char* type) {
    constexpr bool brain = std::is_same_v<Format, Brain> || std::is_same_v<Format, BrainPair>;
    constexpr uint32_t one_16 = brain ? 0x3F80 : 0x3C00;
    if constexpr (Format::count == 2 * WARP_SIZE) {
        set_as<Format, c, uint32_t, 0xFFFF>(name, two("u16x2", type));
        set_as<Format, c, uint32_t, one_16>(name, two(type, type));
    } else {
        set_as<Format, c, uint32_t, 0xFFFFFFFF>(name, two("u32", type));
        set_as<Format, c, uint32_t, 0xFFFFFFFF>(name, two("s32", type));
        set_as<Format, c, uint32_t, 0x3F800000>(name, two("f32", type));
        if constexpr (std::is_same_v<Format, Half> || std::is_same_v<Format, Brain>) {
            set_as<Format, c, uint16_t, 0xFFFF>(name, two("u16", type));
            set_as<Format, c, uint16_t, 0xFFFF>(name, two("s16", type));
            set_as<Format, c, uint16_t, one_16>(name, two(type, type));
        }
    }
}
template <class Format, Comparison c> void both(const char* name, const char* type) {
    setp<Format, c>(name, type);
    set<Format, c>(name, type);
}

template <class Format> void of_each_float(const char* type) {
    using C = Comparison;
    both<Format, C::EQ>("eq", type), both<Format, C::NE>("ne", type), both<Format, C::LT>("lt", type);
    both<Format, C::LE>("le", type), both<Format, C::GT>("gt", type), both<Format, C::GE>("ge", type);
    both<Format, C::EQU>("equ", type), both<Format, C::NEU>("neu", type), both<Format, C::LTU>("ltu", type);
    both<Format, C::LEU>("leu", type), both<Format, C::GTU>("gtu", type), both<Format, C::GEU>("geu", type);
    both<Format, C::NUM>("num", type), both<Format, C::NOT_A_NUMBER>("nan", type);
}
template <class T> void of_equality(const char* type) {
    both<Integer<T>, Comparison::EQ>("eq", type), both<Integer<T>, Comparison::NE>("ne", type);
}
template <class T> void of_order(const char* type) {
    using C = Comparison;
    of_equality<T>(type);
    both<Integer<T>, C::LT>("lt", type), both<Integer<T>, C::LE>("le", type);
    both<Integer<T>, C::GT>("gt", type), both<Integer<T>, C::GE>("ge", type);
    if constexpr (!std::is_signed_v<T>) {
        both<Integer<T>, C::LT>("lo", type), both<Integer<T>, C::LE>("ls", type);
        both<Integer<T>, C::GT>("hi", type), both<Integer<T>, C::GE>("hs", type);
    }
}
template <class Word> void choices(const std::vector<const char*>& types) {
    for (const char* type : types) {
        add_operation("selp", type, select<Word>);
        add_operation("slct", two(type, "s32").c_str(), select_by_sign<Word>);
        add_operation("slct", two(type, "f32").c_str(), select_by_float<Word>);
    }
}
template <class Word, int digits> void tests(const char* type) {
    add_operation("testp.finite", type, test<Word, digits, Class::FINITE>);
    add_operation("testp.infinite", type, test<Word, digits, Class::INFINITE>);
    add_operation("testp.number", type, test<Word, digits, Class::NUMBER>);
    add_operation("testp.notanumber", type, test<Word, digits, Class::NOT_A_NUMBER>);
    add_operation("testp.normal", type, test<Word, digits, Class::NORMAL>);
    add_operation("testp.subnormal", type, test<Word, digits, Class::SUBNORMAL>);
}

const bool registered = [] {
    of_each_float<Single>("f32"), of_each_float<Double>("f64");
    of_each_float<Half>("f16"), of_each_float<HalfPair>("f16x2");
    of_each_float<Brain>("bf16"), of_each_float<BrainPair>("bf16x2");
    of_order<uint16_t>("u16"), of_order<uint32_t>("u32"), of_order<uint64_t>("u64");
    of_order<std::int16_t>("s16"), of_order<std::int32_t>("s32"), of_order<std::int64_t>("s64");
    of_equality<uint16_t>("b16"), of_equality<uint32_t>("b32"), of_equality<uint64_t>("b64");
    choices<uint16_t>({"b16", "u16", "s16", "f16", "bf16"});
    choices<uint32_t>({"b32", "u32", "s32", "f32", "f16x2", "bf16x2"});
    choices<uint64_t>({"b64", "u64", "s64", "f64"});
    tests<uint32_t, 23>("f32"), tests<uint64_t, 52>("f64");
    return true;
}();

}    // namespace
